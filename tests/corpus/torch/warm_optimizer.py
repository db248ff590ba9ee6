# cause: optimizer-state-at-first-steps
# class: torch
# report: https://pytorch.org/docs/stable/generated/torch.optim.AdamW.html
# verdict: plateau
# needs: apt:python3-torch
# note: Gradients and the two moments of AdamW come with the first step and one layer after the other is unfrozen during the first 20 steps; then nothing is added.

import os

import torch
from torch import nn


def build():
    return nn.ModuleList(nn.Linear(256, 256) for _ in range(10))


def forward(layers, values):
    for layer in layers:
        values = torch.relu(layer(values))
    return values


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "100"))
    torch.set_num_threads(1)
    layers = build()
    for layer in layers[:-1]:
        layer.requires_grad_(False)
    optimizer = torch.optim.AdamW(layers.parameters(), lr=0.0001)
    inputs = torch.randn(32, 256, generator=torch.Generator().manual_seed(15))
    total = 0.0
    for step in range(iterations):
        if step % 2 == 0 and step // 2 < len(layers):
            layers[len(layers) - 1 - step // 2].requires_grad_(True)
        optimizer.zero_grad(set_to_none=True)
        loss = forward(layers, inputs).pow(2).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(total)
    print(f"truth iterations={iterations}")


main()
