# cause: returned-buffer-not-freed
# class: mixed
# report: https://docs.python.org/3/library/ctypes.html#ctypes.c_char_p
# verdict: lost
# line: 25, 57
# bytes-per-iteration: 8208
# holder: -
# fix: free, c_void_p
# needs: apt:gcc
# note: The C function returns a malloc'd text; restype c_char_p copies it into bytes and drops the pointer, so 8,192 bytes (a block of 8,208) are lost per call.

import ctypes
import inspect
import os
import subprocess
import tempfile

FIRST = inspect.currentframe().f_lineno + 1
SOURCE = r"""
#include <stdlib.h>
#include <string.h>

char *normalise(const char *text) {
    size_t size = 8192;
    char *out = malloc(size);
    if (!out)
        return NULL;
    size_t n = strlen(text);
    for (size_t i = 0; i + 1 < size; i++) {
        char c = text[i % n];
        out[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    out[size - 1] = '\0';
    return out;
}
"""


def build(folder):
    source = os.path.join(folder, "normalise.c")
    library = os.path.join(folder, "libnormalise.so")
    with open(source, "w") as out:
        out.write('#line %d "%s"\n%s' % (FIRST, os.path.abspath(__file__), SOURCE))
    subprocess.run(["cc", "-g", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    handle = ctypes.CDLL(library)
    handle.normalise.argtypes = [ctypes.c_char_p]
    handle.normalise.restype = ctypes.c_char_p
    return handle


class Tokenizer:
    def __init__(self, library):
        self.library = library
        self.counts = {}

    def add(self, text):
        for word in self.library.normalise(text).split():
            self.counts[word] = self.counts.get(word, 0) + 1


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "5000"))
    folder = tempfile.mkdtemp()
    tokenizer = Tokenizer(build(folder))
    for _ in range(iterations):
        tokenizer.add(b"The Quick brown Fox jumps over the Lazy dog ")
    print(len(tokenizer.counts), "words")
    print(f"truth iterations={iterations}")


main()
