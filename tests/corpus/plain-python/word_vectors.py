# cause: data-loaded-once
# class: plain-python
# report: https://docs.python.org/3/library/array.html
# verdict: plateau
# note: The table of vectors is made before the loop and stays; a query allocates only what it returns.

import array
import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "3000"))
WORDS = 20_000
WIDTH = 64


class Table:
    def __init__(self, rng):
        self.values = array.array("f", (rng.random() for _ in range(WORDS * WIDTH // 8)))
        self.values.extend(self.values * 7)
        self.names = {f"word{n}": n for n in range(WORDS)}

    def vector(self, word):
        start = self.names[word] * WIDTH
        return self.values[start : start + WIDTH]

    def similarity(self, left, right):
        return sum(a * b for a, b in zip(self.vector(left), self.vector(right)))


def nearest(table, word, candidates):
    return max(candidates, key=lambda other: table.similarity(word, other))


def main():
    rng = random.Random(8)
    table = Table(rng)
    hits = 0
    for _ in range(ITERATIONS):
        candidates = [f"word{rng.randrange(WORDS)}" for _ in range(100)]
        hits += len(nearest(table, f"word{rng.randrange(WORDS)}", candidates))
    print(f"truth iterations={ITERATIONS}")


main()
