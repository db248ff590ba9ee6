# cause: only-the-last-kept
# class: plain-python
# report: https://github.com/ipython/ipython/pull/11572
# verdict: plateau
# note: The shell keeps the last exception with its frames, some hundred kilobytes, until the next one replaces it.

import os
import traceback

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "4000"))


class Shell:
    last_error = None

    def run(self, function, *arguments):
        try:
            return function(*arguments)
        except Exception as error:
            Shell.last_error = error
            return None

    def show(self):
        if Shell.last_error is None:
            return 0
        return len(traceback.format_exception(Shell.last_error))


def ratio(number):
    table = [n * number for n in range(8000)]
    divisor = table[number % 10] % 3
    return sum(table) / divisor


shell = Shell()
failed = 0
for number in range(ITERATIONS):
    if shell.run(ratio, number) is None:
        failed += 1
        shell.show()

print(f"truth iterations={ITERATIONS}")
