# cause: hooks-registered-again
# class: torch
# report: https://github.com/pytorch/pytorch/pull/446
# verdict: leak
# line: 20
# bytes-per-iteration: 66200
# holder: hooks
# fix: remove, handle, once
# needs: apt:python3-torch
# note: Every evaluation registers one more hook whose closure owns a buffer of 64 KiB, and no handle is removed; later hooks replace what earlier ones wrote.

import os

import torch
from torch import nn


class Statistics:
    def __init__(self, width):
        self.sums = torch.zeros(64, width)

    def __call__(self, module, inputs, output):
        if self.sums[0, 0] == 0:
            self.sums.copy_(output)


def evaluate(model, inputs):
    statistics = Statistics(256)
    model[0].register_forward_hook(statistics)
    with torch.no_grad():
        output = model(inputs)
    return float(output.sum() + statistics.sums.mean())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "500"))
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 2)).eval()
    inputs = torch.randn(64, 256, generator=torch.Generator().manual_seed(4))
    total = 0.0
    for _ in range(iterations):
        total += evaluate(model, inputs)
    print(total)
    print(f"truth iterations={iterations}")


main()
