# cause: losses-as-numbers
# class: torch
# report: https://github.com/horovod/horovod/pull/641
# verdict: clean
# needs: apt:python3-torch
# note: The history holds Python floats of the last 100 steps; every graph goes with its step.

import collections
import os

import torch
from torch import nn
from torch.nn import functional


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 5))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.history = collections.deque(maxlen=100)

    def step(self, inputs, labels):
        self.optimizer.zero_grad()
        loss = functional.cross_entropy(self.model(inputs), labels)
        loss.backward()
        self.optimizer.step()
        self.history.append(loss.item())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "800"))
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(10)
    trainer = Trainer()
    for _ in range(iterations):
        inputs = torch.randn(64, 128, generator=generator)
        trainer.step(inputs, torch.randint(0, 5, (64,), generator=generator))
    print(sum(trainer.history) / len(trainer.history))
    print(f"truth iterations={iterations}")


main()
