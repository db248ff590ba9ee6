# cause: loss-summed-with-graph
# class: torch
# report: https://github.com/pytorch/pytorch/issues/64586
# verdict: leak
# line: 30
# bytes-per-iteration: 204000
# holder: total
# fix: item, detach, no_grad
# needs: apt:python3-torch
# note: The validation runs with gradients enabled and the sum is a tensor, so the graph of every batch stays with its activations (128 KiB) and its input (64 KiB).

import os

import torch
from torch import nn


class Validator:
    def __init__(self, model):
        self.model = model
        self.loss = nn.MSELoss()
        self.total = torch.zeros(())
        self.count = 0

    def batch(self, generator):
        return torch.randn(64, 256, generator=generator), torch.zeros(64, 1)

    def step(self, generator):
        inputs, targets = self.batch(generator)
        outputs = self.model(inputs)
        self.total = self.total + self.loss(outputs, targets)
        self.count += 1


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "500"))
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(1)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 1))
    validator = Validator(model)
    for _ in range(iterations):
        validator.step(generator)
    print(float(validator.total.detach()) / max(validator.count, 1))
    print(f"truth iterations={iterations}")


main()
