# cause: native-memory-freed-by-finalizer
# class: mixed
# report: https://docs.python.org/3/library/weakref.html#finalizer-objects
# verdict: clean
# needs: apt:gcc
# note: The wrapper's finalizer frees the C block as soon as the Python object goes.

import ctypes
import os
import subprocess
import tempfile
import weakref

SOURCE = r"""
#include <stdlib.h>

double *matrix_new(int n, double seed) {
    double *m = malloc(sizeof(double) * (size_t)n * (size_t)n);
    for (int i = 0; i < n * n; i++)
        m[i] = seed + i % 7;
    return m;
}

double matrix_trace(const double *m, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += m[i * n + i];
    return sum;
}

void matrix_free(double *m) { free(m); }
"""


def build(folder):
    source = os.path.join(folder, "matrix.c")
    path = os.path.join(folder, "libmatrix.so")
    with open(source, "w") as out:
        out.write(SOURCE)
    subprocess.run(["cc", "-g", "-O1", "-shared", "-fPIC", "-o", path, source], check=True)
    library = ctypes.CDLL(path)
    library.matrix_new.argtypes = [ctypes.c_int, ctypes.c_double]
    library.matrix_new.restype = ctypes.c_void_p
    library.matrix_trace.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.matrix_trace.restype = ctypes.c_double
    library.matrix_free.argtypes = [ctypes.c_void_p]
    return library


class Matrix:
    def __init__(self, library, size, seed):
        self.library = library
        self.size = size
        self.pointer = library.matrix_new(size, seed)
        weakref.finalize(self, library.matrix_free, self.pointer)

    def trace(self):
        return self.library.matrix_trace(self.pointer, self.size)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "15000"))
    total = 0.0
    folder = tempfile.mkdtemp()
    library = build(folder)
    for step in range(iterations):
        matrix = Matrix(library, 200, float(step % 3))
        total += matrix.trace()
    print(total)
    print(f"truth iterations={iterations}")


main()
