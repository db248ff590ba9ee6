# cause: host-callback-keeps-values
# class: jax
# report: https://docs.jax.dev/en/latest/external-callbacks.html
# verdict: leak
# line: 24
# bytes-per-iteration: 66500
# holder: seen
# fix: reduce, bound, summary
# needs: jax
# note: The compiled function calls back to the host with the whole activation of 64 KiB, and the recorder keeps a copy of each one.

import os

import jax
import jax.numpy as jnp
import numpy as np


class Recorder:
    def __init__(self):
        self.seen = []

    def __call__(self, values):
        self.seen.append(np.array(values))


recorder = Recorder()


@jax.jit
def layer(weights, inputs):
    hidden = jnp.tanh(inputs @ weights)
    jax.debug.callback(recorder, hidden)
    return hidden.mean()


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "800"))
    key = jax.random.PRNGKey(4)
    weights = jax.random.normal(key, (128, 128)) / 11.0
    inputs = jax.random.normal(key, (128, 128))
    total = 0.0
    for _ in range(iterations):
        total += float(layer(weights, inputs))
    jax.effects_barrier()
    print(len(recorder.seen), total)
    print(f"truth iterations={iterations}")


main()
