# cause: working-set-per-iteration
# class: plain-python
# report: https://docs.python.org/3/howto/sorting.html
# verdict: clean
# note: Each iteration builds, sorts and merges lists of some megabytes and returns a number; nothing of them is left.

import heapq
import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "250"))


def runs(rng, count, size):
    return [sorted(rng.random() for _ in range(size)) for _ in range(count)]


def merged_median(rng):
    parts = runs(rng, 6, 2500)
    merged = list(heapq.merge(*parts))
    return merged[len(merged) // 2]


rng = random.Random(6)
medians = 0.0
step = 0
while step < ITERATIONS:
    medians += merged_median(rng)
    step += 1

print(f"truth iterations={ITERATIONS}")
