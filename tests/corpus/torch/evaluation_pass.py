# cause: evaluation-without-gradients
# class: torch
# report: https://pytorch.org/docs/stable/notes/autograd.html
# verdict: clean
# needs: apt:python3-torch
# note: The model is in eval mode under no_grad; what is summed has no graph.

import os

import torch
from torch import nn


class Accuracy:
    def __init__(self):
        self.right = torch.zeros((), dtype=torch.long)
        self.seen = 0

    def update(self, outputs, labels):
        self.right = self.right + (outputs.argmax(dim=1) == labels).sum()
        self.seen += len(labels)


def evaluate(model, generator, batches):
    accuracy = Accuracy()
    with torch.no_grad():
        for _ in range(batches):
            images = torch.randn(8, 3, 24, 24, generator=generator)
            labels = torch.randint(0, 10, (8,), generator=generator)
            accuracy.update(model(images), labels)
    return int(accuracy.right), accuracy.seen


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "200"))
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(11)
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 22 * 22, 10)).eval()
    right = 0
    for _ in range(iterations):
        right += evaluate(model, generator, 8)[0]
    print(right)
    print(f"truth iterations={iterations}")


main()
