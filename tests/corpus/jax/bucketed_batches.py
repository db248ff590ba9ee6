# cause: shapes-in-buckets
# class: jax
# report: https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html
# verdict: plateau
# needs: jax
# note: Lengths are padded to one of six sizes, so there are six compilations, all within the first iterations.

import os

import jax
import jax.numpy as jnp
import numpy as np

SIZES = (64, 128, 256, 512, 1024, 2048)


@jax.jit
def encode(values, mask):
    weights = jnp.exp(values) * mask
    return jnp.sum(weights * values) / jnp.sum(mask)


def padded(values):
    size = next(size for size in SIZES if size >= len(values))
    out = np.zeros(size, dtype=np.float32)
    mask = np.zeros(size, dtype=np.float32)
    out[:len(values)] = values
    mask[:len(values)] = 1.0
    return out, mask


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "8000"))
    generator = np.random.default_rng(7)
    total = 0.0
    for _ in range(iterations):
        values = generator.random(int(generator.integers(1, 2048)), dtype=np.float32)
        total += float(encode(*padded(values)))
    print(total)
    print(f"truth iterations={iterations}")


main()
