# cause: balanced-reference-counts
# class: mixed
# report: https://docs.python.org/3/extending/extending.html#reference-counts
# verdict: clean
# needs: apt:gcc
# note: The extension appends new objects to a list and gives up its own reference each time.

import importlib.util
import os
import subprocess
import sysconfig
import tempfile

SOURCE = r"""
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *chunks(PyObject *self, PyObject *args) {
    const char *data;
    Py_ssize_t length, size;
    if (!PyArg_ParseTuple(args, "y#n", &data, &length, &size))
        return NULL;
    PyObject *list = PyList_New(0);
    for (Py_ssize_t at = 0; list && at < length; at += size) {
        Py_ssize_t n = length - at < size ? length - at : size;
        PyObject *part = PyBytes_FromStringAndSize(data + at, n);
        if (!part || PyList_Append(list, part) < 0)
            Py_CLEAR(list);
        Py_XDECREF(part);
    }
    return list;
}

static PyMethodDef methods[] = {{"chunks", chunks, METH_VARARGS, "parts of bytes"}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "splitter", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_splitter(void) { return PyModule_Create(&definition); }
"""


def load(folder):
    source = os.path.join(folder, "splitter.c")
    library = os.path.join(folder, "splitter" + sysconfig.get_config_var("EXT_SUFFIX"))
    with open(source, "w") as out:
        out.write(SOURCE)
    include = sysconfig.get_path("include")
    subprocess.run(["cc", "-g", "-O1", "-shared", "-fPIC", "-I", include, "-o", library, source], check=True)
    spec = importlib.util.spec_from_file_location("splitter", library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "12000"))
    data = bytes(range(256)) * 800
    total = 0
    folder = tempfile.mkdtemp()
    splitter = load(folder)
    for size in range(iterations):
        parts = splitter.chunks(data, 100 + size % 60)
        total += len(parts) + max(parts)[0]
    print(total)
    print(f"truth iterations={iterations}")


main()
