"""Loops of JAX that keep something with every iteration, and one that does not; says which line makes what is kept.

    truth LINE BYTES HOLDER      bytes per iteration, 0 where nobody knows; `truth none` where nothing grows

What JAX computes lies in memory that a thread of its own takes: no line of this file, line 0.
"""

import inspect
import sys

import jax
import jax.numpy as jnp
import numpy as np

LENGTH = 50_000
PASSES = 60
kept = []


def truth(kind, size, holder):
    source = inspect.getsource(sys.modules[__name__]).splitlines()
    line = 1 + next(at for at, text in enumerate(source) if text.endswith("# " + kind))
    print("truth", line, size, holder, flush=True)


@jax.jit
def step(values):
    return (values * 2.0 + 1.0).sum()


@jax.jit
def scaled(values):
    return values * 2.0


def keep_a_list():
    batch = jnp.ones(LENGTH, jnp.float32)
    scaled(batch).block_until_ready()
    for _ in range(PASSES):
        kept.append(scaled(batch).block_until_ready())
    print("truth", 0, 4 * LENGTH, "kept", flush=True)


def compile_for_each_shape():
    for number in range(PASSES):
        step(np.ones(1000 + number, np.float32)).block_until_ready()  # shapes
    truth("shapes", 0, "-")


def compile_once():
    batch = np.ones(LENGTH, np.float32)
    for _ in range(PASSES):
        step(batch).block_until_ready()
    print("truth none")


{"list": keep_a_list, "shapes": compile_for_each_shape, "clean": compile_once}[sys.argv[1]]()
