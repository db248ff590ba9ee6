"""A loop over NumPy arrays of moderate size: a network of one hidden layer is trained by hand, on batches that are drawn
anew; every pass makes some forty arrays, most of them of 1 to 64 KB, and drops them.

Argument: passes. The cost is the CPU time of one pass.
"""

import sys

import numpy

from measure import tell_one_of

SAMPLES, BATCH, INPUTS, HIDDEN = 4096, 128, 32, 64
RATE = 0.01


def samples():
    generator = numpy.random.default_rng(42)
    inputs = generator.standard_normal((SAMPLES, INPUTS))
    return generator, inputs, numpy.tanh(inputs @ generator.standard_normal((INPUTS, 1)))


def main():
    generator, inputs, wanted = samples()
    first = generator.standard_normal((INPUTS, HIDDEN)) * 0.1
    second = generator.standard_normal((HIDDEN, 1)) * 0.1
    losses = []

    def one_pass():
        nonlocal first, second
        chosen = generator.integers(0, SAMPLES, BATCH)
        batch = inputs[chosen]
        batch = (batch - batch.mean(axis=0)) / (batch.std(axis=0) + 1e-6)
        hidden = numpy.tanh(batch @ first)
        wrong = hidden @ second - wanted[chosen]
        losses.append(float((wrong * wrong).mean()))
        slope = (wrong @ second.T) * (1 - hidden * hidden)
        second = second - RATE * (hidden.T @ wrong) / BATCH
        first = first - RATE * (batch.T @ slope) / BATCH

    tell_one_of(int(sys.argv[1]), one_pass, warm_up=20)


main()
