# cause: rows-cloned
# class: torch
# report: https://pytorch.org/docs/stable/notes/serialization.html
# verdict: clean
# needs: apt:python3-torch
# note: What is kept of a batch is a clone of one row, in a table of 64 classes that is overwritten.

import os

import torch
from torch import nn


class Prototypes:
    def __init__(self, encoder):
        self.encoder = encoder
        self.rows = {}

    @torch.no_grad()
    def update(self, batch, label):
        vectors = self.encoder(batch)
        best = int(vectors.norm(dim=1).argmax())
        self.rows[label] = vectors[best].clone()
        return float(vectors[best].sum())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "150"))
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(14)
    prototypes = Prototypes(nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 256)))
    total = 0.0
    for number in range(iterations):
        batch = torch.randn(128, 128, generator=generator)
        total += prototypes.update(batch, number % 64)
    print(len(prototypes.rows), total)
    print(f"truth iterations={iterations}")


main()
