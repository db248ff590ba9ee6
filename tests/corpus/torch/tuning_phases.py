# cause: optimizer-per-phase-kept
# class: torch
# report: https://pytorch.org/docs/stable/optim.html
# verdict: leak
# line: 34
# bytes-per-iteration: 528000
# holder: phases
# fix: reuse, one, drop
# needs: apt:python3-torch
# note: Every phase has its own Adam, and the list keeps all of them with their two moments (2 by 262 KB) for parameters of 65,792 floats.

import os

import torch
from torch import nn


class Schedule:
    def __init__(self, model):
        self.model = model
        self.phases = []

    def begin(self, rate):
        optimizer = torch.optim.Adam(self.model.parameters(), lr=rate)
        self.phases.append(optimizer)
        return optimizer

    def run(self, inputs, rate):
        optimizer = self.begin(rate)
        for _ in range(3):
            optimizer.zero_grad()
            loss = self.model(inputs).pow(2).mean()
            loss.backward()
            optimizer.step()
        return float(loss.detach())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "300"))
    torch.set_num_threads(1)
    model = nn.Linear(256, 256)
    schedule = Schedule(model)
    inputs = torch.randn(32, 256, generator=torch.Generator().manual_seed(7))
    total = 0.0
    for number in range(iterations):
        total += schedule.run(inputs, 0.001 / (1 + number))
    print(total)
    print(f"truth iterations={iterations}")


main()
