# cause: consumed-bytes-deleted
# class: plain-python
# report: https://github.com/python-trio/trio/issues/796
# verdict: clean
# note: The receive buffer takes every chunk and gives up what was consumed with del; it stays as long as one line.

import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))


class Splitter:
    def __init__(self):
        self.buffer = bytearray()
        self.searched = 0

    def feed(self, data):
        self.buffer += data
        while (end := self.buffer.find(b"\n", self.searched)) >= 0:
            line = bytes(self.buffer[:end])
            del self.buffer[: end + 1]
            self.searched = 0
            yield line
        self.searched = len(self.buffer)


def stream(rng):
    text = b"".join(b"%d %s\n" % (n, b"payload " * (n % 90)) for n in range(500))
    position = 0
    while True:
        size = rng.randrange(2000, 9000)
        yield text[position : position + size]
        position = (position + size) % len(text)


splitter = Splitter()
source = stream(random.Random(33))
longest = 0
for _ in range(ITERATIONS):
    for line in splitter.feed(next(source)):
        longest = max(longest, len(line.split()))

print(f"truth iterations={ITERATIONS}")
