# cause: replay-buffer-with-bound
# class: torch
# report: https://pytorch.org/tutorials/intermediate/reinforcement_q_learning.html
# verdict: plateau
# needs: apt:python3-torch
# note: The replay memory holds the last 400 transitions of 64 KiB and drops the oldest.

import collections
import os
import random

import torch
from torch import nn

Transition = collections.namedtuple("Transition", "state action reward")


class Memory:
    def __init__(self, capacity, seed):
        self.transitions = collections.deque(maxlen=capacity)
        self.random = random.Random(seed)

    def push(self, state, action, reward):
        self.transitions.append(Transition(state, action, reward))

    def sample(self, size):
        picked = self.random.sample(list(self.transitions), min(size, len(self.transitions)))
        return torch.stack([transition.state for transition in picked])


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "2500"))
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(16)
    network = nn.Sequential(nn.Flatten(), nn.Linear(128 * 128, 4))
    memory = Memory(400, 16)
    total = 0.0
    for step in range(iterations):
        state = torch.rand(128, 128, generator=generator)
        memory.push(state, step % 4, 1.0)
        with torch.no_grad():
            total += float(network(memory.sample(4)).max())
    print(total)
    print(f"truth iterations={iterations}")


main()
