# cause: results-as-numbers
# class: jax
# report: https://docs.jax.dev/en/latest/async_dispatch.html
# verdict: clean
# needs: jax
# note: Each result is turned into a float, and a window of 50 of them is kept; the arrays go at once.

import collections
import os

import jax
import jax.numpy as jnp


@jax.jit
def residual(matrix, vector):
    product = matrix @ vector
    return product / jnp.linalg.norm(product), jnp.abs(product - vector)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "4000"))
    matrix = jax.random.normal(jax.random.PRNGKey(8), (400, 400))
    vector = jnp.ones(400)
    window = collections.deque(maxlen=50)
    for _ in range(iterations):
        vector, error = residual(matrix, vector)
        window.append(float(error.max()))
    print(sum(window) / len(window))
    print(f"truth iterations={iterations}")


main()
