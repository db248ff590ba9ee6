/* An extension module: sums of bytes that it makes itself. One function forgets to give up its reference to them, the other does not. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *made(PyObject *arguments) {
    Py_ssize_t size;
    if (!PyArg_ParseTuple(arguments, "n", &size))
        return NULL;
    PyObject *data = PyBytes_FromStringAndSize(NULL, size);
    if (data)
        memset(PyBytes_AS_STRING(data), 1, size);
    return data;
}

static PyObject *sum(PyObject *data) {
    unsigned long all = 0;
    for (Py_ssize_t at = 0; at < PyBytes_GET_SIZE(data); at++)
        all += (unsigned char)PyBytes_AS_STRING(data)[at];
    return PyLong_FromUnsignedLong(all);
}

static PyObject *forgotten(PyObject *self, PyObject *arguments) {
    PyObject *data = made(arguments);
    return data ? sum(data) : NULL;
}

static PyObject *released(PyObject *self, PyObject *arguments) {
    PyObject *data = made(arguments);
    PyObject *all = data ? sum(data) : NULL;
    Py_XDECREF(data);
    return all;
}

static PyObject *kept(PyObject *self, PyObject *arguments) { return made(arguments); }

static PyMethodDef methods[] = {
    {"forgotten", forgotten, METH_VARARGS, "the sum of new bytes, which are never freed"},
    {"released", released, METH_VARARGS, "the sum of new bytes"},
    {"kept", kept, METH_VARARGS, "new bytes"},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "forgets", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_forgets(void) { return PyModule_Create(&definition); }
