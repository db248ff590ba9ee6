# cause: memo-of-small-domain
# class: plain-python
# report: https://docs.python.org/3/library/functools.html#functools.cache
# verdict: plateau
# note: The memo has no bound, but the domain has: 30 by 30 cells times the remaining moves. It is full after a while and only answers from then on.

import os
import random
from functools import cache

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "600000"))
SIZE = 30
JUMPS = [(1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)]


@cache
def paths(x, y, moves):
    if not (0 <= x < SIZE and 0 <= y < SIZE):
        return 0
    if moves == 0:
        return 1
    return sum(paths(x + dx, y + dy, moves - 1) for dx, dy in JUMPS)


def ask(rng):
    return paths(rng.randrange(SIZE), rng.randrange(SIZE), rng.randrange(24))


def main():
    rng = random.Random(14)
    digits = 0
    for _ in range(ITERATIONS):
        digits += ask(rng).bit_length()
    print(f"truth iterations={ITERATIONS}")
    return digits


main()
