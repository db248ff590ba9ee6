# cause: cache-with-bound
# class: plain-python
# report: https://github.com/pylint-dev/astroid/issues/1344
# verdict: plateau
# note: lru_cache with maxsize 512 fills within the first few hundred calls and then replaces its entries.

import os
import random
from functools import lru_cache

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "20000"))


@lru_cache(maxsize=512)
def route(start, goal):
    steps = []
    x, y = start
    while (x, y) != goal:
        x += (goal[0] > x) - (goal[0] < x)
        y += (goal[1] > y) - (goal[1] < y)
        steps.append((x, y))
    return tuple(steps)


def main():
    rng = random.Random(17)
    length = 0
    for _ in range(ITERATIONS):
        start = rng.randrange(400), rng.randrange(400)
        goal = rng.randrange(400), rng.randrange(400)
        length += len(route(start, goal))
    print(f"truth iterations={ITERATIONS}")
    return length


main()
