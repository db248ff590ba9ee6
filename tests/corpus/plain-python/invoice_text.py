# cause: string-building
# class: plain-python
# report: https://docs.python.org/3/faq/programming.html#what-is-the-most-efficient-way-to-concatenate-many-strings-together
# verdict: clean
# note: Text is put together in a StringIO of its own per invoice and written to a file.

import io
import os
import tempfile

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))


class Invoice:
    def __init__(self, number):
        self.number = number
        self.items = [(n, n * number % 89 + 1) for n in range(250)]

    def render(self):
        out = io.StringIO()
        out.write(f"Invoice {self.number}\n{'=' * 60}\n")
        for item, amount in self.items:
            out.write(f"{item:4d}  {amount:6d} EUR  {amount * 0.19:8.2f} VAT\n")
        return out.getvalue()


def main():
    size = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "invoice.txt")
        for number in range(ITERATIONS):
            body = Invoice(number).render()
            with open(path, "w") as out:
                size += out.write(body)
    print(f"truth iterations={ITERATIONS}")


if __name__ == "__main__":
    main()
