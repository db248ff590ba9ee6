# cause: compiled-once
# class: jax
# report: https://docs.jax.dev/en/latest/jit-compilation.html
# verdict: clean
# needs: jax
# note: One shape and no static arguments: one compilation, and every array is replaced.

import os

import jax
import jax.numpy as jnp


@jax.jit
def update(weights, inputs, targets):
    def loss(weights):
        return jnp.mean((jnp.tanh(inputs @ weights) - targets) ** 2)

    value, gradient = jax.value_and_grad(loss)(weights)
    return weights - 0.1 * gradient, value


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "2000"))
    key = jax.random.PRNGKey(6)
    weights = jax.random.normal(key, (64, 32))
    inputs = jax.random.normal(key, (256, 64))
    targets = jnp.zeros((256, 32))
    total = 0.0
    for _ in range(iterations):
        weights, value = update(weights, inputs, targets)
        total += float(value)
    print(total)
    print(f"truth iterations={iterations}")


main()
