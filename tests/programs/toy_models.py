"""Models of the toy framework: small ones that are dropped, and one in each pass that is registered, and stays."""

import toyframework

KEPT = 100_000
PASSES = 60

for _ in range(20_000):
    toyframework.Model(64)

for _ in range(PASSES):
    temporary = toyframework.Model(300_000)
    del temporary
    toyframework.register(toyframework.Model(KEPT))  # kept

print("kept", KEPT * len(toyframework.registry), len(toyframework.registry))
