# cause: create-graph-cycle
# class: torch
# report: https://github.com/pytorch/pytorch/issues/4661
# verdict: lost
# line: 31
# bytes-per-iteration: 207000
# holder: -
# fix: autograd.grad, grad, None
# needs: apt:python3-torch
# note: backward with create_graph makes the point's gradient refer to the graph that leads back to the point; the cycle is in C++, so the collector never sees it. Six tensors of 32 KiB are in it (live bytes measured; resident memory grows more because of the holes between them).

import os
import warnings

import torch


def surface(point):
    return (point.tanh() * point.cos()).sum()


@torch.no_grad()
def line_search(point, direction):
    return min(float(surface(point + direction * (0.01 * step))) for step in range(40))


def sharpness(seed):
    generator = torch.Generator().manual_seed(seed)
    point = torch.randn(8192, generator=generator).requires_grad_()
    value = surface(point)
    value.backward(create_graph=True)
    lowest = line_search(point.detach(), point.grad.detach())
    return lowest, float(point.grad.detach().norm())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "400"))
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    best = 0.0
    for seed in range(iterations):
        value, slope = sharpness(seed)
        best = max(best, value / (1.0 + slope))
    print(best)
    print(f"truth iterations={iterations}")


main()
