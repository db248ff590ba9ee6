"""Runs inside a program that has imported TensorFlow; the agent carries this text.

It is given `count`, which counts an event for the line that called, and `note`, which keeps words about such events.
`install` is called again and again until it says that all is in place: each time it looks at what has been imported, and
imports nothing itself. Whatever it puts in place passes every call on as it came, holds none of the program's objects,
and lets no exception of its own out. What a version does not have is noted once, and does without.
"""

import sys
import _weakref as weakref

GRAPH_OPERATION = 1
SESSION_MADE = 2
SESSION_CLOSED = 3
SESSION_FREED = 4
FUNCTION_TRACED = 5
PY_FUNCTION_REGISTERED = 6
PY_FUNCTION_DROPPED = 7
GRADIENT_REGISTERED = 8
MODEL_MADE = 9
SESSION_CLEARED = 10
UNAVAILABLE = 11
GRAPH_OPERATION_FREED = 12


def replace(owner, name, make):
    """Puts what `make` makes of a function in its place, under its name and with its signature."""
    original = vars(owner)[name]
    new = make(original)
    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(new, attribute, getattr(original, attribute))
    new.__wrapped__ = original
    setattr(owner, name, new)


def watch_graphs(ops):
    """Operations of graphs that are not a function's: those of functions come and go with them.

    A graph is known by its address while it lives, and how many operations went with it is told when it goes.
    """
    plain = ops.Graph
    living = {}

    def forget(reference, address):
        _, operations = living.pop(address, (None, [0]))
        if operations[0]:
            count(GRAPH_OPERATION_FREED | operations[0] << 8)

    def remember(graph):
        address = id(graph)
        operations = [0]
        living[address] = weakref.ref(graph, lambda reference: forget(reference, address)), operations
        return living[address]

    def make(original):
        def create(self, *arguments, **keywords):
            if type(self) is plain:
                (living.get(id(self)) or remember(self))[1][0] += 1
                count(GRAPH_OPERATION)
            return original(self, *arguments, **keywords)

        return create

    replace(plain, "_create_op_helper", make)


def watch_sessions(session):
    """What is freed unclosed is as good as closed: its native part goes with it."""

    def make_init(original):
        def init(self, *arguments, **keywords):
            result = original(self, *arguments, **keywords)
            count(SESSION_MADE)
            return result

        return init

    def make_close(original):
        def close(self):
            if not getattr(self, "_closed", True):
                count(SESSION_CLOSED)
            return original(self)

        return close

    def make_del(original):
        def delete(self):
            if not getattr(self, "_closed", True):
                count(SESSION_CLOSED)
            count(SESSION_FREED)
            return original(self)

        return delete

    base = session.BaseSession
    replace(base, "__init__", make_init)
    replace(base, "close", make_close)
    replace(base, "__del__", make_del)


# What is watched, by the module that has it.
PROBES = [
    ("tensorflow.python.framework.ops", watch_graphs, "graph operations"),
    ("tensorflow.python.client.session", watch_sessions, "sessions"),
]
waiting = list(PROBES)


def is_imported(name):
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)


def install():
    """Puts in place what can be; whether there is nothing left to wait for soon."""
    is_complete = is_imported("tensorflow")
    for probe in list(waiting):
        name, watch, what = probe
        if is_imported(name):
            waiting.remove(probe)
            try:
                watch(sys.modules[name])
            except Exception as error:
                note(UNAVAILABLE, ("%s: %s" % (what, error)).encode("utf-8", "replace"))
        elif is_complete and name.startswith("tensorflow."):
            waiting.remove(probe)
            note(UNAVAILABLE, ("%s: no module %s" % (what, name)).encode())
    return is_complete
