# cause: compiled-closure-per-client
# class: jax
# report: https://github.com/jax-ml/jax/issues/5531
# verdict: leak
# line: 36
# bytes-per-iteration: 1930000
# holder: steps
# fix: argument, one, share
# needs: jax
# note: Every client gets a jitted step of its own that closes over its table of 128 KiB; the dict keeps the functions, their programs and the tables. The size of a program is XLA's, measured.

import os

import jax
import jax.numpy as jnp
import numpy as np


class Clients:
    def __init__(self):
        self.steps = {}

    def step_for(self, name, table):
        if name not in self.steps:
            device_table = jnp.asarray(table)

            @jax.jit
            def step(values):
                return jnp.dot(values, device_table) * 0.5

            self.steps[name] = step
        return self.steps[name]

    def run(self, name, table, values):
        step = self.step_for(name, table)
        return float(step(values).sum())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "40"))
    generator = np.random.default_rng(5)
    clients = Clients()
    values = jnp.ones(256)
    total = 0.0
    for number in range(iterations):
        table = generator.random((256, 128), dtype=np.float32)
        total += clients.run(f"client-{number}", table, values)
    print(total)
    print(f"truth iterations={iterations}")


main()
