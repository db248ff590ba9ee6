# cause: retained-graph-in-list
# class: torch
# report: https://github.com/pytorch/pytorch/issues/17568
# verdict: leak
# line: 27
# bytes-per-iteration: 208000
# holder: history
# fix: item, detach, retain_graph
# needs: apt:python3-torch
# note: retain_graph keeps the saved tensors after backward, and the list keeps each loss with its graph: input (64 KiB), the activation of tanh (128 KiB) and small ones.

import os

import torch
from torch import nn
from torch.nn import functional


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(128, 256), nn.Tanh(), nn.Linear(256, 4))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.001)
        self.history = []

    def step(self, inputs, labels):
        self.optimizer.zero_grad()
        outputs = self.model(inputs)
        loss = functional.cross_entropy(outputs, labels)
        loss.backward(retain_graph=True)
        self.optimizer.step()
        self.history.append(loss)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "600"))
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(2)
    trainer = Trainer()
    for _ in range(iterations):
        inputs = torch.randn(128, 128, generator=generator)
        labels = torch.randint(0, 4, (128,), generator=generator)
        trainer.step(inputs, labels)
    print(float(trainer.history[-1].detach()))
    print(f"truth iterations={iterations}")


main()
