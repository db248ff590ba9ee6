# cause: device-arrays-in-list
# class: jax
# report: https://docs.jax.dev/en/latest/device_memory_profiling.html
# verdict: leak
# line: 29
# bytes-per-iteration: 132500
# holder: states
# fix: float, asarray, bound, drop
# needs: jax
# note: The log keeps the state of every step as an array of 32 Ki floats although only the last one is read.

import os

import jax
import jax.numpy as jnp


@jax.jit
def advance(state, force):
    velocity = jnp.roll(state, 1) - state
    return state + 0.01 * velocity + force


class Rollout:
    def __init__(self, size):
        self.states = [jnp.zeros(size)]

    def step(self, number):
        state = advance(self.states[-1], 0.001 * (number % 7))
        self.states.append(state)
        return float(state[0])


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "1400"))
    rollout = Rollout(32 * 1024)
    total = 0.0
    for number in range(iterations):
        total += rollout.step(number)
    print(total)
    print(f"truth iterations={iterations}")


main()
