# cause: static-argument-never-repeats
# class: jax
# report: https://github.com/mlaux1/rl-blox/pull/157
# verdict: leak
# line: 33
# bytes-per-iteration: 1620000
# holder: cache
# fix: static, traced, argument
# needs: jax
# note: The temperature is a static argument and another number in every step, so each step compiles and keeps a program; the size is XLA's, measured.

import functools
import os

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, static_argnames="temperature")
def anneal(energies, temperature):
    weights = jnp.exp(-energies / temperature)
    return energies - 0.1 * weights / jnp.sum(weights)


def schedule(step):
    return 1.0 + 10.0 / (1.0 + step)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "30"))
    energies = jnp.linspace(0.0, 1.0, 512)
    for step in range(iterations):
        energies = anneal(energies, temperature=schedule(step))
    print(float(energies.sum()))
    print(f"truth iterations={iterations}")


main()
