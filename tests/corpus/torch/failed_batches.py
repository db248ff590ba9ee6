# cause: traceback-keeps-tensors
# class: torch
# report: https://github.com/pytorch/pytorch/issues/18853
# verdict: leak
# line: 24
# bytes-per-iteration: 395000
# holder: errors
# fix: str, traceback, with_traceback
# needs: apt:python3-torch
# note: The list keeps exceptions, and an exception keeps its traceback with the frame whose local variables are the batch (128 KiB) and its product (256 KiB).

import os

import torch


class Runner:
    def __init__(self, weights):
        self.weights = weights
        self.errors = []

    def process(self, generator, broken):
        batch = torch.randn(128, 256, generator=generator)
        hidden = torch.tanh(batch @ self.weights)
        if broken:
            raise ValueError(f"batch has a wrong label: {float(hidden.sum())}")
        return float(hidden.mean())

    def run(self, generator, number):
        try:
            return self.process(generator, number >= 0)
        except ValueError as error:
            self.errors.append(error)
            return 0.0


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "250"))
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(9)
    runner = Runner(torch.randn(256, 512, generator=generator) / 16)
    total = 0.0
    for number in range(iterations):
        total += runner.run(generator, number)
    print(len(runner.errors), "errors", total)
    print(f"truth iterations={iterations}")


main()
