# cause: callback-returns-char-pointer
# class: mixed
# report: https://github.com/JesseTG/libretro.py/issues/30
# verdict: leak
# line: 49
# bytes-per-iteration: 4130
# holder: -
# fix: buffer, create_string_buffer, keep
# needs: apt:gcc
# note: ctypes cannot know how long C uses a returned char pointer and keeps a reference to every bytes object that the callback returns; each has 4,096 bytes.

import ctypes
import os
import subprocess
import tempfile
import warnings

SOURCE = r"""
#include <string.h>
typedef const char *(*lookup)(int);

unsigned hash_entry(lookup callback, int number) {
    const char *text = callback(number);
    unsigned sum = 5381;
    for (int pass = 0; pass < 20; pass++)
        for (const char *p = text; *p; p++)
            sum = sum * 33 + (unsigned char)*p;
    return sum;
}
"""

LOOKUP = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_int)


class Directory:
    def __init__(self, folder):
        source = os.path.join(folder, "hash.c")
        library = os.path.join(folder, "libhash.so")
        with open(source, "w") as out:
            out.write(SOURCE)
        subprocess.run(["cc", "-g", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
        self.library = ctypes.CDLL(library)
        self.library.hash_entry.restype = ctypes.c_uint
        self.library.hash_entry.argtypes = [LOOKUP, ctypes.c_int]
        self.callback = LOOKUP(self.entry)

    def entry(self, number):
        name = b"entry-%08d/" % number
        return name.ljust(4096, b".")

    def checksum(self, number):
        return self.library.hash_entry(self.callback, number)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "12000"))
    warnings.simplefilter("ignore")
    total = 0
    folder = tempfile.mkdtemp()
    directory = Directory(folder)
    for number in range(iterations):
        total ^= directory.checksum(number)
    print(total)
    print(f"truth iterations={iterations}")


main()
