# cause: loop-inside-compiled-scan
# class: jax
# report: https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html
# verdict: clean
# needs: jax
# note: The loop runs inside one compiled scan; its stacked outputs of 1.6 MB are dropped after each simulation.

import functools
import os

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, static_argnums=1)
def simulate(start, steps):
    def body(state, _):
        state = state + 0.01 * jnp.sin(jnp.roll(state, 1))
        return state, state

    return jax.lax.scan(body, start, None, length=steps)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "400"))
    state = jnp.linspace(0.0, 3.0, 1000)
    total = 0.0
    for _ in range(iterations):
        state, path = simulate(state, 400)
        total += float(path[-1].mean())
    print(total)
    print(f"truth iterations={iterations}")


main()
