# cause: ring-buffer
# class: plain-python
# report: https://docs.python.org/3/library/collections.html#collections.deque
# verdict: plateau
# note: A deque with maxlen takes a chunk per iteration and drops the oldest once it is full.

import collections
import os
import random
import statistics

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "5000"))


class Window:
    def __init__(self, size):
        self.chunks = collections.deque(maxlen=size)

    def add(self, chunk):
        self.chunks.append(chunk)

    def means(self):
        return [statistics.fmean(chunk) for chunk in list(self.chunks)[-8:]]


def ticks(rng, size):
    price = 100.0
    while True:
        chunk = []
        for _ in range(size):
            price += rng.random() - 0.5
            chunk.append(price)
        yield chunk


window = Window(200)
source = ticks(random.Random(1), 800)
for _ in range(ITERATIONS):
    window.add(next(source))
    window.means()

print(f"truth iterations={ITERATIONS}")
