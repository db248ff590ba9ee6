# cause: forward-hook-keeps-outputs
# class: torch
# report: https://github.com/meta-pytorch/opacus/issues/176
# verdict: leak
# line: 43
# bytes-per-iteration: 131500
# holder: features
# fix: clear, remove, handle
# needs: apt:python3-torch
# note: The hook appends the layer's output of every call to a list that nobody empties; an output is 64 by 512 floats.

import os

import torch
from torch import nn


class Probe:
    def __init__(self, layer):
        self.features = []
        self.handle = layer.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.features.append(output)

    def newest_norm(self):
        return float(self.features[-1].norm())


def build():
    return nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "200"))
    torch.set_num_threads(1)
    model = build().eval()
    probe = Probe(model[2])
    inputs = torch.randn(64, 256, generator=torch.Generator().manual_seed(3))
    total = 0.0
    with torch.no_grad():
        for _ in range(iterations):
            model(inputs)
            total += probe.newest_norm()
    print(total)
    print(f"truth iterations={iterations}")


main()
