# cause: weak-key-value-refers-to-key
# class: plain-python
# report: https://github.com/python/cpython/issues/88846
# verdict: leak
# line: 20
# bytes-per-iteration: 12500
# holder: ANNOTATIONS
# fix: weak, attribute
# note: The WeakKeyDictionary holds its values strongly and each value refers to its own key, so no key ever dies.

import os
import random
from weakref import WeakKeyDictionary

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "4000"))


class Layer:
    def __init__(self, width, rng):
        self.weights = rng.randbytes(width)

    def norm(self):
        mean = sum(self.weights) / len(self.weights)
        return sum((value - mean) ** 2 for value in self.weights[::8])


class Annotation:
    """Remarks on a layer, found through the layer."""

    def __init__(self, layer, text):
        self.layer = layer
        self.text = text

    def describe(self):
        return f"{self.text}: {self.layer.norm():.2f}"


ANNOTATIONS = WeakKeyDictionary()


def annotate(layer, text):
    ANNOTATIONS[layer] = Annotation(layer, text)
    return layer


def trial(rng):
    layer = annotate(Layer(12288, rng), "trial")
    return ANNOTATIONS[layer].describe()


def main():
    rng = random.Random(11)
    best = max(trial(rng) for _ in range(ITERATIONS))
    print(f"truth iterations={ITERATIONS}")
    return best


main()
