# cause: hook-handle-removed
# class: torch
# report: https://github.com/pytorch/pytorch/issues/115255
# verdict: clean
# needs: apt:python3-torch
# note: The hook that keeps activations is removed with its list after each measurement.

import contextlib
import os

import torch
from torch import nn


@contextlib.contextmanager
def activations_of(layers):
    kept = []
    handles = [layer.register_forward_hook(lambda module, inputs, output: kept.append(output)) for layer in layers]
    try:
        yield kept
    finally:
        for handle in handles:
            handle.remove()
        kept.clear()


def sparsity(model, inputs):
    relus = [layer for layer in model if isinstance(layer, nn.ReLU)]
    with torch.no_grad(), activations_of(relus) as kept:
        model(inputs)
        return sum(float((output == 0).float().mean()) for output in kept)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "150"))
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 4))
    inputs = torch.randn(64, 256, generator=torch.Generator().manual_seed(12))
    total = 0.0
    for _ in range(iterations):
        total += sparsity(model, inputs)
    print(total)
    print(f"truth iterations={iterations}")


main()
