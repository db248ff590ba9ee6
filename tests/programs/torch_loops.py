"""Loops of PyTorch that keep something with every iteration, and one that does not; says which line makes what is kept.

    truth LINE BYTES HOLDER      bytes per iteration; `truth none` where nothing grows
"""

import inspect
import sys

import torch

LENGTH = 50_000
PASSES = 200
kept = []


def truth(kind, holder, size=4 * LENGTH):
    source = inspect.getsource(sys.modules[__name__]).splitlines()
    line = 1 + next(at for at, text in enumerate(source) if text.endswith("# " + kind))
    print("truth", line, size, holder, flush=True)


def keep_a_list():
    for number in range(PASSES):
        kept.append(torch.full([LENGTH], float(number)))  # list
    truth("list", "kept")


def keep_the_graph():
    global total_loss
    weights = torch.ones(LENGTH, requires_grad=True)
    total_loss = torch.zeros([])
    for _ in range(PASSES):
        batch = torch.rand(LENGTH)  # graph
        total_loss = total_loss + (weights * batch).sum()
    truth("graph", "total_loss")


def keep_optimizers():
    weights = torch.ones(LENGTH, requires_grad=True)
    for _ in range(PASSES):
        optimizer = torch.optim.Adam([weights])
        kept.append(optimizer)
        weights.sum().backward()
        optimizer.step()  # optimizers
        optimizer.zero_grad()
    truth("optimizers", "kept", 2 * 4 * LENGTH)


def keep_numbers():
    weights = torch.ones(LENGTH, requires_grad=True)
    total_loss = 0.0
    for _ in range(PASSES):
        batch = torch.rand(LENGTH)
        total_loss += (weights * batch).sum().item()
    print("truth none")


torch.set_num_threads(1)
KINDS = {"list": keep_a_list, "graph": keep_the_graph, "optimizers": keep_optimizers, "clean": keep_numbers}
KINDS[sys.argv[1]]()
