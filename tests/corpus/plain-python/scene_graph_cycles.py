# cause: sawtooth-of-cycles
# class: plain-python
# report: https://github.com/python/cpython/issues/98801
# verdict: clean
# note: Parents and children refer to each other; what an iteration leaves is garbage that the collector takes every few hundred objects.

import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "3000"))


class Node:
    def __init__(self, name, parent=None):
        self.name = name
        self.parent = parent
        self.children = []
        if parent is not None:
            parent.children.append(self)

    def depth(self):
        return 0 if self.parent is None else 1 + self.parent.depth()


def build(levels, fan):
    root = Node("root")
    level = [root]
    for number in range(levels):
        level = [Node(f"{node.name}.{n}", node) for node in level for n in range(fan)]
    return root, level


def render(frame):
    root, leaves = build(5, 3)
    return sum(leaf.depth() for leaf in leaves) + frame


def main():
    drawn = 0
    for frame in range(ITERATIONS):
        drawn += render(frame)
    print(f"truth iterations={ITERATIONS}")
    return drawn


if __name__ == "__main__":
    main()
