# cause: jit-compiles-each-length
# class: jax
# report: https://github.com/jax-ml/jax/issues/2072
# verdict: leak
# line: 31
# bytes-per-iteration: 1700000
# holder: cache
# fix: pad, bucket, clear_caches
# needs: jax
# note: Every new length is a new compilation, and the function's cache keeps the programs; the size is XLA's, measured.

import os

import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def score(sequence):
    steps = jnp.tanh(sequence[1:] - sequence[:-1])
    return jnp.sum(steps * steps) + jnp.max(sequence)


class Scorer:
    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)

    def run(self, length):
        sequence = self.generator.random(length, dtype=np.float32)
        return float(score(sequence))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "25"))
    scorer = Scorer(1)
    total = 0.0
    for number in range(iterations):
        total += scorer.run(100 + number)
    print(total)
    print(f"truth iterations={iterations}")


main()
