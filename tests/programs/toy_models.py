"""Models of the toy framework: small ones that are dropped, and one in each iteration that is registered, and stays."""

import collections

import toyframework

KEPT = 100_000
PASSES = 60

# Events enough for the probe to be installed, in no loop of this script.
collections.deque(map(toyframework.Model, [64] * 20_000), maxlen=0)

for _ in range(PASSES):
    temporary = toyframework.Model(300_000)
    del temporary
    toyframework.register(toyframework.Model(KEPT))  # kept

print("kept", KEPT * len(toyframework.registry), len(toyframework.registry))
