# cause: pool-callback-collects
# class: processes
# report: https://github.com/python/cpython/issues/74047
# verdict: leak
# line: 27
# bytes-per-iteration: 12200
# holder: pages
# fix: write, clear, drop, stream
# note: The callback of apply_async runs in the parent and keeps a decoded copy of each result in a list that only its length is asked of.

import multiprocessing
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "5000"))


def render(number):
    lines = [f"{number:06d} line {n:04d} value {number * n % 1009:5d}" for n in range(400)]
    return "\n".join(lines).encode()


class Collector:
    def __init__(self):
        self.pages = []

    def __call__(self, page):
        self.pages.append(page.decode("ascii").replace("value", "amount"))

    def count(self):
        return len(self.pages)


def main():
    collector = Collector()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pending = []
        for number in range(ITERATIONS):
            pending.append(pool.apply_async(render, (number,), callback=collector))
            if len(pending) == 30:
                for result in pending:
                    result.wait()
                pending.clear()
        pool.close()
        pool.join()
    collector.count()
    print(f"truth iterations={ITERATIONS}")


if __name__ == "__main__":
    main()
