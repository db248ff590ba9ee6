# cause: quadratic-append
# class: numpy
# report: https://numpy.org/doc/stable/reference/generated/numpy.append.html
# verdict: clean
# needs: numpy
# note: np.append copies the array every time, which is slow, but each old copy is freed and the result goes with the call.

import os

import numpy as np


def collect(readings):
    values = np.empty(0)
    for reading in readings:
        values = np.append(values, reading)
    return values


def summary(values):
    return float(np.percentile(values, 90) - np.median(values))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "400"))
    generator = np.random.default_rng(6)
    total = 0.0
    for _ in range(iterations):
        total += summary(collect(generator.random(800)))
    print(total)
    print(f"truth iterations={iterations}")


main()
