# cause: model-cycles-collected
# class: torch
# report: https://github.com/pytorch/pytorch/issues/46386
# verdict: clean
# needs: apt:python3-torch
# note: Each trial's model is in a cycle through a hook that refers to it; the collector runs after every tenth trial, so memory is a sawtooth.

import gc
import os

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.calls = 0
        self.layers = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 1))

        def count(module, inputs, output):
            self.calls += 1

        self.layers.register_forward_hook(count)

    def forward(self, values):
        return self.layers(values)


def trial(number, inputs):
    model = Model(800 + number % 7)
    loss = model(inputs).pow(2).mean()
    loss.backward()
    return float(loss.detach()) * model.calls


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "250"))
    torch.set_num_threads(1)
    inputs = torch.randn(64, 64, generator=torch.Generator().manual_seed(17))
    total = 0.0
    for number in range(iterations):
        total += trial(number, inputs)
        if number % 10 == 9:
            gc.collect()
    print(total)
    print(f"truth iterations={iterations}")


main()
