# cause: gc-disabled-with-ctx-cycle
# class: torch
# report: https://github.com/pytorch/pytorch/issues/25340
# verdict: growth
# line: 22
# bytes-per-iteration: 66500
# holder: cycle
# fix: gc, save_for_backward
# needs: apt:python3-torch
# note: The function keeps its output as an attribute of ctx, which is a cycle (output, node, ctx, output), and the collector was switched off for speed; gc.collect() would free all of it. An output is 64 KiB.

import gc
import os

import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values, factor):
        ctx.factor = factor
        output = values * factor
        ctx.output = output
        return output

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor, None


def step(values, weights):
    output = Scale.apply(values, 0.5)
    return (output * weights).sum()


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "1500"))
    torch.set_num_threads(1)
    gc.disable()
    generator = torch.Generator().manual_seed(6)
    values = torch.randn(16384, generator=generator).requires_grad_()
    weights = torch.randn(16384, generator=generator)
    total = 0.0
    for _ in range(iterations):
        loss = step(values, weights)
        loss.backward()
        total += float(loss.detach())
        values.grad = None
        with torch.no_grad():
            total += float(values.sort().values[::1000].sum())
    print(total)
    print(f"truth iterations={iterations}")


main()
