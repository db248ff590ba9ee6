# cause: reused-buffer
# class: plain-python
# report: https://docs.python.org/3/library/io.html#io.RawIOBase.readinto
# verdict: clean
# note: One bytearray is filled again by readinto; the file is read in a circle.

import hashlib
import os
import random
import tempfile

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "1000"))
BLOCK = 1 << 20


class Reader:
    def __init__(self, file):
        self.file = file
        self.buffer = bytearray(BLOCK)

    def blocks(self, count):
        view = memoryview(self.buffer)
        for _ in range(count):
            size = self.file.readinto(self.buffer)
            if size < BLOCK:
                self.file.seek(0)
            yield view[:size]


def main():
    digest = hashlib.blake2b()
    with tempfile.TemporaryFile(buffering=0) as file:
        for _ in range(5):
            file.write(random.Random(3).randbytes(BLOCK))
        file.seek(0)
        for block in Reader(file).blocks(ITERATIONS):
            digest.update(block)
    print(f"truth iterations={ITERATIONS}")


main()
