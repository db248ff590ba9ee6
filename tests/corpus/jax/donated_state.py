# cause: buffers-donated
# class: jax
# report: https://docs.jax.dev/en/latest/buffer_donation.html
# verdict: clean
# needs: jax
# note: The state of 4 MB is donated to each step, so the output takes its place.

import functools
import os

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, donate_argnums=0)
def blur(field, strength):
    shifted = jnp.roll(field, 1, axis=0) + jnp.roll(field, -1, axis=1)
    return field + strength * (0.5 * shifted - field)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "400"))
    field = jax.random.uniform(jax.random.PRNGKey(9), (1000, 1000))
    for step in range(iterations):
        field = blur(field, 0.1 + 0.001 * (step % 3))
    print(float(field.mean()))
    print(f"truth iterations={iterations}")


main()
