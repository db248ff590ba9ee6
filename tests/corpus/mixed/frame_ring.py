# cause: native-ring-of-fixed-size
# class: mixed
# report: https://jackaudio.org/api/ringbuffer_8h.html
# verdict: plateau
# needs: apt:gcc
# note: The C side keeps the last 256 frames of 128 KiB and reuses each slot's block; memory rises until the ring has been filled once.

import ctypes
import os
import subprocess
import tempfile

SOURCE = r"""
#include <stdlib.h>
#include <string.h>

#define SLOTS 256
static unsigned char *slots[SLOTS];
static unsigned long head;

unsigned push(const unsigned char *data, int n) {
    unsigned char **slot = &slots[head++ % SLOTS];
    *slot = realloc(*slot, (size_t)n);
    memcpy(*slot, data, (size_t)n);
    unsigned sum = 0;
    for (int i = 0; i < n; i++)
        sum = sum * 31 + (*slot)[i];
    return sum;
}
"""


class Recorder:
    def __init__(self, folder):
        source = os.path.join(folder, "ring.c")
        path = os.path.join(folder, "libring.so")
        with open(source, "w") as out:
            out.write(SOURCE)
        subprocess.run(["cc", "-g", "-O1", "-shared", "-fPIC", "-o", path, source], check=True)
        self.library = ctypes.CDLL(path)
        self.library.push.argtypes = [ctypes.c_char_p, ctypes.c_int]
        self.library.push.restype = ctypes.c_uint

    def record(self, frame):
        return self.library.push(frame, len(frame))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "8000"))
    total = 0
    folder = tempfile.mkdtemp()
    recorder = Recorder(folder)
    for number in range(iterations):
        total ^= recorder.record(bytes([number % 256]) * (128 * 1024))
    print(total)
    print(f"truth iterations={iterations}")


main()
