# cause: tensor-view-keeps-storage
# class: torch
# report: https://github.com/pytorch/pytorch/issues/33101
# verdict: leak
# line: 25
# bytes-per-iteration: 262800
# holder: index
# fix: clone
# needs: apt:python3-torch
# note: The first row of each batch is a view of the batch's storage; a row of 1 KiB keeps 256 KiB.

import os

import torch
from torch import nn


class Index:
    def __init__(self, encoder):
        self.encoder = encoder
        self.index = {}

    @torch.no_grad()
    def add(self, name, tokens):
        vectors = self.encoder(tokens)
        self.index[name] = vectors[0]
        return float(vectors.mean())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "300"))
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(8)
    encoder = nn.Sequential(nn.Embedding(500, 256), nn.Linear(256, 256))
    index = Index(encoder)
    total = 0.0
    for number in range(iterations):
        tokens = torch.randint(0, 500, (256,), generator=generator)
        total += index.add(f"document-{number}", tokens)
    print(len(index.index), total)
    print(f"truth iterations={iterations}")


main()
