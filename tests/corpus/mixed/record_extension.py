# cause: missing-decref-after-setitem
# class: mixed
# report: https://github.com/schwehr/libais/pull/226
# verdict: leak
# line: 33, 62
# bytes-per-iteration: 6200
# holder: -
# fix: Py_DECREF, decref
# needs: apt:gcc
# note: PyDict_SetItemString does not steal its value, so the bytes object of 6,144 bytes keeps one count too many when the record goes.

import importlib.util
import inspect
import os
import subprocess
import sys
import sysconfig
import tempfile

FIRST = inspect.currentframe().f_lineno + 1
SOURCE = r"""
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *decode(PyObject *self, PyObject *args) {
    long number;
    if (!PyArg_ParseTuple(args, "l", &number))
        return NULL;
    PyObject *record = PyDict_New();
    PyObject *key = PyLong_FromLong(number);
    PyDict_SetItemString(record, "number", key);
    Py_DECREF(key);
    PyObject *payload = PyBytes_FromStringAndSize(NULL, 6144);
    char *bytes = PyBytes_AS_STRING(payload);
    for (int i = 0; i < 6144; i++)
        bytes[i] = (char)(number + i);
    PyDict_SetItemString(record, "payload", payload);
    return record;
}

static PyMethodDef methods[] = {{"decode", decode, METH_VARARGS, "one record"}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "records", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_records(void) { return PyModule_Create(&definition); }
"""


def load(folder):
    source = os.path.join(folder, "records.c")
    library = os.path.join(folder, "records" + sysconfig.get_config_var("EXT_SUFFIX"))
    with open(source, "w") as out:
        out.write('#line %d "%s"\n%s' % (FIRST, os.path.abspath(__file__), SOURCE))
    include = sysconfig.get_path("include")
    subprocess.run(["cc", "-g", "-O1", "-shared", "-fPIC", "-I", include, "-o", library, source], check=True)
    spec = importlib.util.spec_from_file_location("records", library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def total_of(records, number):
    record = records.decode(number)
    return sum(record["payload"]) + record["number"]


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "20000"))
    folder = tempfile.mkdtemp()
    records = load(folder)
    total = 0
    for number in range(iterations):
        total += total_of(records, number)
    print(total, file=sys.stdout)
    print(f"truth iterations={iterations}")


main()
