# cause: slices-copied
# class: numpy
# report: https://github.com/numpy/numpy/issues/15746
# verdict: clean
# needs: numpy
# note: What is kept of each recording is a copy of the sample at its peak as a float, in a ring of 200; the recordings go at once.

import collections
import os

import numpy as np


class Peaks:
    def __init__(self, keep):
        self.recent = collections.deque(maxlen=keep)

    def add(self, recording):
        at = int(np.abs(recording).argmax())
        window = recording[max(at - 4, 0):at + 4].copy()
        self.recent.append(window)
        return float(window.sum())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "1500"))
    generator = np.random.default_rng(9)
    peaks = Peaks(200)
    total = 0.0
    for _ in range(iterations):
        total += peaks.add(generator.standard_normal(60000))
    print(total)
    print(f"truth iterations={iterations}")


main()
