# cause: deep-recursion-returns
# class: plain-python
# report: https://docs.python.org/3/library/sys.html#sys.setrecursionlimit
# verdict: clean
# note: A random formula of some thousand nodes is built and folded by recursion; the tree and the frames are gone when the call returns. The iterations themselves recurse in groups of a hundred.

import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "1500"))


def formula(rng, depth):
    if depth == 0 or rng.random() < 0.1:
        return rng.randrange(100)
    return rng.choice("+-*"), formula(rng, depth - 1), formula(rng, depth - 1)


def fold(node):
    if isinstance(node, int):
        return node
    operator, left, right = node
    a, b = fold(left), fold(right)
    if operator == "+":
        return (a + b) % 10_007
    if operator == "-":
        return (a - b) % 10_007
    return a * b % 10_007


def evaluate(rng, left):
    if left == 0:
        return 0
    return fold(formula(rng, 10)) ^ evaluate(rng, left - 1)


rng = random.Random(32)
result = 0
done = 0
while done < ITERATIONS:
    step = min(100, ITERATIONS - done)
    result ^= evaluate(rng, step)
    done += step

print(f"truth iterations={ITERATIONS}")
