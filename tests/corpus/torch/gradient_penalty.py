# cause: second-order-without-cycle
# class: torch
# report: https://github.com/pytorch/pytorch/issues/7343
# verdict: clean
# needs: apt:python3-torch
# note: autograd.grad returns the gradient with its graph instead of storing it in the tensor, so there is no cycle and the penalty's graph goes with the step.

import os

import torch
from torch import nn


class Critic:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.0005)

    def penalty(self, samples):
        samples = samples.requires_grad_()
        scores = self.model(samples).sum()
        gradient, = torch.autograd.grad(scores, samples, create_graph=True)
        return (gradient.norm(dim=1) - 1).pow(2).mean()

    def step(self, samples):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.penalty(samples)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "700"))
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(13)
    critic = Critic()
    total = 0.0
    for _ in range(iterations):
        total += critic.step(torch.randn(128, 64, generator=generator))
    print(total)
    print(f"truth iterations={iterations}")


main()
