# cause: memoryview-keeps-buffer
# class: plain-python
# report: https://docs.python.org/3/library/stdtypes.html#memoryview
# verdict: leak
# line: 39
# bytes-per-iteration: 16800
# holder: flows
# fix: bytes, tobytes, copy
# note: The header of each packet is a slice of a memoryview, twenty bytes long; it keeps the whole packet.

import os
import random
import struct
from collections import defaultdict

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "3000"))
HEADER = struct.Struct("<IIIII")


class Capture:
    """An index of packets by flow: only headers are wanted."""

    def __init__(self):
        self.flows = defaultdict(list)

    def add(self, packet):
        view = memoryview(packet)
        header = view[: HEADER.size]
        source, target, *_ = HEADER.unpack(header)
        self.flows[source % 16, target % 16].append(header)
        return sum(view[HEADER.size :])

    def busiest(self):
        return max(self.flows, key=lambda flow: len(self.flows[flow]))


def packets(rng, count):
    while count:
        yield rng.randbytes(16384)
        count -= 1


def main():
    capture = Capture()
    checks = 0
    for packet in packets(random.Random(9), ITERATIONS):
        checks += capture.add(packet)
    capture.busiest()
    print(f"truth iterations={ITERATIONS}")


main()
