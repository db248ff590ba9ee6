# cause: ctypes-pointer-cache
# class: plain-python
# report: https://github.com/python/cpython/issues/100926
# verdict: leak
# line: 24
# bytes-per-iteration: 5600
# holder: _pointer_type_cache
# fix: POINTER, memmove, from_address, string_at
# note: ctypes.POINTER keeps each pointer type that it made (before Python 3.14); an array type per length is a new type, and so is the pointer to it.

import ctypes
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "9000"))
SOURCE = ctypes.create_string_buffer(bytes(range(256)) * 64)


class BlockReader:
    def __init__(self, source):
        self.address = ctypes.addressof(source)
        self.sizes = set()

    def read(self, size):
        block = ctypes.cast(self.address, ctypes.POINTER(ctypes.c_ubyte * size))
        self.sizes.add(size % 128)
        return bytes(block.contents[: min(size, 4096)])


def checksum(data):
    value = 0
    for byte in data[:1500]:
        value = (value * 31 + byte) & 0xFFFFFFFF
    return value


def main():
    reader = BlockReader(SOURCE)
    check = 0
    for number in range(ITERATIONS):
        check ^= checksum(reader.read(1024 + number))
    print(f"truth iterations={ITERATIONS}")
    return check


main()
