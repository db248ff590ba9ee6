/* The native half: a pool that takes regions of 4 MiB from malloc and never gives them back. Parts of one size are handed out
   again; the pool calls itself by name, as functions of a library do. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>

#define REGION (4u << 20)
#define SIZES 8

void *toy_pool_region(size_t size);
void *toy_pool_take(size_t size);
void toy_pool_give(void *part);

struct part {
    struct part *next;
};
static struct { size_t size; struct part *free; } sizes[SIZES];
static char *rest;
static size_t left;

static int of_size(size_t size) {
    for (int at = 0; at < SIZES; at++) {
        if (sizes[at].size == size || sizes[at].size == 0) {
            sizes[at].size = size;
            return at;
        }
    }
    abort();
}

void *toy_pool_region(size_t size) {
    return malloc(size);
}

/* The size of a part stands before it. */
void *toy_pool_take(size_t size) {
    int at = of_size(size);
    struct part *part = sizes[at].free;
    if (part != NULL) {
        sizes[at].free = part->next;
        return part;
    }
    size_t whole = (size + 16 + 31) / 32 * 32;
    if (left < whole) {
        rest = toy_pool_region(REGION);
        if (rest == NULL) abort();
        left = REGION;
    }
    *(size_t *)rest = size;
    part = (struct part *)(rest + 16);
    rest += whole;
    left -= whole;
    return part;
}

void toy_pool_give(void *part) {
    int at = of_size(*(size_t *)((char *)part - 16));
    ((struct part *)part)->next = sizes[at].free;
    sizes[at].free = part;
}

static PyObject *take(PyObject *module, PyObject *size) {
    size_t bytes = PyLong_AsSize_t(size);
    if (PyErr_Occurred() || bytes < sizeof(struct part)) return PyErr_Format(PyExc_ValueError, "a size");
    return PyLong_FromVoidPtr(toy_pool_take(bytes));
}

static PyObject *give(PyObject *module, PyObject *part) {
    void *address = PyLong_AsVoidPtr(part);
    if (address == NULL) return NULL;
    toy_pool_give(address);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"take", take, METH_O, NULL},
    {"give", give, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", NULL, -1, methods};

PyMODINIT_FUNC PyInit__native(void) {
    return PyModule_Create(&definition);
}
