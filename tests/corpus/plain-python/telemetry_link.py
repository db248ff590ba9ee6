# cause: parse-buffer-never-trimmed
# class: plain-python
# report: https://github.com/ArduPilot/pymavlink/issues/130
# verdict: leak
# line: 26
# bytes-per-iteration: 8250
# holder: buf
# fix: trim, clear, delete, reset
# note: The parser extends one bytearray and only moves an index; the bytes before the index are never deleted because a message is always waiting.

import os
import random
import struct

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "8000"))
FRAME = struct.Struct("<BIHB")


class Link:
    def __init__(self):
        self.buf = bytearray()
        self.index = 0
        self.messages = 0

    def parse(self, data):
        self.buf.extend(data)
        found = None
        while len(self.buf) - self.index >= FRAME.size:
            kind, stamp, length, check = FRAME.unpack_from(self.buf, self.index)
            end = self.index + FRAME.size + length
            if end > len(self.buf):
                break
            found = kind, stamp
            self.index = end
            self.messages += 1
        if found is None:
            self.buf = bytearray()
            self.index = 0
        return found


def burst(rng, number):
    parts = []
    for n in range(20):
        payload = rng.randbytes(380)
        parts.append(FRAME.pack(n, number, len(payload), sum(payload) % 256) + payload)
    return b"".join(parts)


link = Link()
rng = random.Random(4)
for number in range(ITERATIONS):
    link.parse(burst(rng, number))

print(f"truth iterations={ITERATIONS}")
