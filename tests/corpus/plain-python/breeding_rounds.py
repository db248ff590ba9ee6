# cause: arenas-pinned-by-survivors
# class: plain-python
# report: http://effbot.org/pyfaq/why-doesnt-python-release-the-memory-when-i-delete-a-large-object.htm
# verdict: plateau
# note: Of each generation of small objects one in fifty survives in a table of fixed size; the survivors are scattered over the arenas, so the process stays larger than its objects.

import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "500"))
TABLE = 4000


class Selection:
    def __init__(self, rng):
        self.rng = rng
        self.best = [(0, "")] * TABLE

    def generation(self, number):
        crowd = [(self.rng.random(), f"candidate {number} {n}") for n in range(8000)]
        for candidate in crowd[::50]:
            self.best[self.rng.randrange(TABLE)] = candidate
        return max(crowd)[0]


def main():
    selection = Selection(random.Random(28))
    top = 0.0
    number = 0
    while number < ITERATIONS:
        top = max(top, selection.generation(number))
        number += 1
    print(f"truth iterations={ITERATIONS}")


main()
