"""Runs inside a program that has imported TensorFlow; the agent carries this text.

It is given `counter`, which gives a number for a counter's name, `count`, which counts an event for the line that called, `note`,
which keeps words about such events, and `made`, which keeps the line that made an operation.
`install` is called again and again until it says that all is installed: each time it checks what has been imported, and
imports nothing itself. Whatever it installs passes every call on as it came, holds none of the program's objects,
and lets no exception of its own out. What a version does not have is noted once, and does without.
"""

import sys
import _weakref as weakref

GRAPH_OPERATION = counter("graph operations")
SESSION_MADE = counter("sessions made")
SESSION_CLOSED = counter("sessions closed")
SESSION_FREED = counter("session objects freed")
FUNCTION_TRACED = counter("function traces")
PY_FUNCTION_REGISTERED = counter("Python functions registered")
PY_FUNCTION_DROPPED = counter("Python functions dropped")
GRADIENT_REGISTERED = counter("gradients registered")
MODEL_MADE = counter("Keras models made")
UNAVAILABLE = counter("probes that are not available")
GRAPH_OPERATION_FREED = counter("graph operations freed")
FUNCTION_FREED = counter("function traces freed")
MODEL_FREED = counter("Keras models freed")
MODEL_COMPILED = counter("calls of compile")
TAPE_MADE = counter("gradient tapes made")
TAPE_FREED = counter("gradient tapes freed")
ITERATOR_MADE = counter("dataset iterators made")
ITERATOR_FREED = counter("dataset iterators freed")
FINALIZED_GRAPH_GREW = counter("operations that a finalized graph refused")

# Objects are known by `~id(…)`. A table has the hash of a key beside it, which of a number is the number itself: an address there
# would read as a pointer to the object for whoever reads memory from outside.

# Notes about one function, and functions that are known by their arguments.
MOST_NOTES = 4
MOST_FUNCTIONS = 256


def replace(owner, name, make):
    """Replaces a function by what `make` makes of it, under its name and with its signature."""
    original = vars(owner)[name]
    new = make(original)
    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(new, attribute, getattr(original, attribute))
    new.__wrapped__ = original
    setattr(owner, name, new)


def watch_lives(owner, made, freed):
    """Objects of a class from their making to their end: known by a key, held weakly."""
    living = {}

    def forget(key):
        if living.pop(key, None) is not None:
            count(freed)

    def make(original):
        def init(self, *arguments, **keywords):
            result = original(self, *arguments, **keywords)
            key = ~id(self)
            if key not in living:  # a class may call the same of several that it inherits from
                living[key] = weakref.ref(self, lambda reference: forget(key))
                count(made)
            return result

        return init

    replace(owner, "__init__", make)


def note_maker(operation):
    """The line that makes an operation, for what it will allocate on threads of TensorFlow's own."""
    try:
        name = operation.name.encode()
        if made(name) is not False:
            return
        # The code that runs was made of the user's by AutoGraph, which knows the line.
        tf_stack = sys.modules["tensorflow.python.util.tf_stack"]
        lines = tf_stack._source_mapper_stacks[tf_stack._get_thread_key()][-1].get_effective_source_map()
        frame = sys._getframe(2)
        while frame is not None:
            location = lines.get((frame.f_code.co_filename, frame.f_lineno))
            if location is not None:
                made(name, location[0].encode(), (location[2] or "<lambda>").encode(), location[1])
                return
            frame = frame.f_back
    except Exception:
        pass  # it is then reported by the threads that run it


def watch_graphs(ops):
    """Operations of graphs that are not a function's: those of functions come and go with them.

    A graph is known by its key while it lives, and how many operations went with it is reported when it is freed.
    """
    plain = ops.Graph
    living = {}

    def forget(reference, key):
        _, operations = living.pop(key, (None, [0]))
        if operations[0]:
            count(GRAPH_OPERATION_FREED | operations[0] << 8)

    def remember(graph):
        key = ~id(graph)
        operations = [0]
        living[key] = weakref.ref(graph, lambda reference: forget(reference, key)), operations
        return living[key]

    def make(original):
        def create(self, *arguments, **keywords):
            if type(self) is plain:
                (living.get(~id(self)) or remember(self))[1][0] += 1
                count(GRAPH_OPERATION)
            if arguments:
                note_maker(arguments[0])
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
    wanted = sys.modules["os"].environ.get("HEAPLENS_FINALIZE_GRAPH")
    if wanted:
        finalize_graphs(session, int(wanted))


def finalize_graphs(session, after):
    """Graphs of sessions that ran so often from one line: from then on TensorFlow itself refuses operations."""
    ops = sys.modules["tensorflow.python.framework.ops"]
    runs, finalized = {}, set()

    def finalize(graph, location):
        runs[location] = runs.get(location, 0) + 1
        if runs[location] == after and not graph.finalized:
            finalized.add(~id(graph))
            graph.finalize()
            note(FINALIZED_GRAPH_GREW, b"after %d runs of the session" % after)

    def make_run(original):
        def run(self, *arguments, **keywords):
            result = original(self, *arguments, **keywords)
            caller = sys._getframe(1)
            finalize(self.graph, (caller.f_code.co_filename, caller.f_lineno))
            return result

        return run

    def make_check(original):
        def check(self):
            if ~id(self) in finalized and self.finalized:
                count(FINALIZED_GRAPH_GREW)
            return original(self)

        return check

    replace(session.BaseSession, "run", make_run)
    replace(ops.Graph, "_check_not_finalized", make_check)


def described(value):
    """What tracing distinguishes arguments by, as it may be reported, and a mark of what may not: never a value of the program's own."""
    kind, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if kind is not None and shape is not None:
        return "%s %s" % (getattr(kind, "name", kind), shape), None
    if value is None:
        return "None", None
    name = type(value).__name__
    return name, hash(value) if type(value) in (bool, int, float, str, bytes) else None


def changed(name, then, now):
    """In words what an argument was and is; nothing where it is the same."""
    (was, mark), (is_now, new_mark) = then or ("not given", None), now or ("not given", None)
    if was != is_now:
        return ["%s was %s, then %s" % (name, was, is_now)]
    return ["%s was one %s, then another" % (name, was)] if mark != new_mark else []


def watch_functions(func_graph):
    """Traces of functions that had been traced before, with the argument that was another. What is traced inside a trace is
    a part of it; what a function traces at first, as the one that is defined in a loop, goes with it."""
    ops = sys.modules["tensorflow.python.framework.ops"]
    inner = func_graph.FuncGraph
    living, before, notes, functions = {}, {}, {}, {}

    def forget(key):
        if living.pop(key, None) is not None:
            count(FUNCTION_FREED)

    def remember(graph):
        key = ~id(graph)
        living[key] = weakref.ref(graph, lambda reference: forget(key))

    def signature(arguments, keywords):
        given = arguments[0] if arguments else keywords.get("args")
        named = arguments[1] if len(arguments) > 1 else keywords.get("kwargs")
        names = keywords.get("arg_names") or ()
        found = {}
        for index, value in enumerate(given or ()):
            name = names[index] if index < len(names) else "argument %d" % index
            found[str(name)] = described(value)
        for name, value in (named or {}).items():
            found[str(name)] = described(value)
        return found

    def explain(function, now):
        then = before.get(function)
        if then is None and len(before) >= MOST_FUNCTIONS:
            return
        before[function] = now
        if then is None or notes.get(function, 0) >= MOST_NOTES:
            return
        notes[function] = notes.get(function, 0) + 1
        changes = [words for name in {**then, **now} for words in changed(name, then.get(name), now.get(name))]
        reason = "; ".join(changes) or "its arguments are as before: it is another function object"
        note(FUNCTION_TRACED, ("%s: %s" % (function, reason)).encode("utf-8", "replace"))

    def begin(name, function, arguments, keywords):
        try:
            key = ~id(function)
            if key not in functions:
                functions[key] = weakref.ref(function, lambda reference: functions.pop(key, None))
            explain(str(name), signature(arguments, keywords))
        except Exception:
            pass  # the trace is counted all the same

    def make(original):
        def trace(name, python_func, *arguments, **keywords):
            if isinstance(ops.get_default_graph(), inner):
                return original(name, python_func, *arguments, **keywords)
            is_known = ~id(python_func) in functions
            begin(name, python_func, arguments, keywords)
            graph = original(name, python_func, *arguments, **keywords)
            if is_known:
                remember(graph)
                count(FUNCTION_TRACED)
            return graph

        return trace

    replace(func_graph, "func_graph_from_py_func", make)


def watch_gradients(ops):
    """Gradients that are registered: nothing ever leaves that registry."""

    def make(original):
        def register(self, function):
            result = original(self, function)
            count(GRADIENT_REGISTERED)
            return result

        return register

    replace(ops.RegisterGradient, "__call__", make)


def watch_py_functions(script_ops):
    """Python functions that graphs and pipelines call. The registry holds them weakly, and the graph that is given them
    strongly: what leaves the registry is freed."""

    def make(original):
        def insert(self, function):
            token = original(self, function)
            count(PY_FUNCTION_REGISTERED)
            try:
                key = ~id(function)
                held[key] = weakref.ref(function, lambda reference: drop(key))
            except TypeError:
                pass  # of a kind that is not reported
            return token

        return insert

    held = {}

    def drop(key):
        if held.pop(key, None) is not None:
            count(PY_FUNCTION_DROPPED)

    replace(script_ops.FuncRegistry, "insert", make)


def watch_tapes(backprop):
    watch_lives(backprop.GradientTape, TAPE_MADE, TAPE_FREED)


def watch_iterators(iterator_ops):
    watch_lives(iterator_ops.OwnedIterator, ITERATOR_MADE, ITERATOR_FREED)


def watch_trainers(trainer):
    watch_models(trainer.Trainer)


def watch_old_models(training):
    """Of Keras 2."""
    watch_models(training.Model)


def watch_models(owner):
    def make(original):
        def compile(self, *arguments, **keywords):
            count(MODEL_COMPILED)
            return original(self, *arguments, **keywords)

        return compile

    watch_lives(owner, MODEL_MADE, MODEL_FREED)
    replace(owner, "compile", make)


# What is watched, by the module that has it. What is not TensorFlow's own may never come.
PROBES = [
    ("tensorflow.python.framework.ops", watch_graphs, "graph operations"),
    ("tensorflow.python.client.session", watch_sessions, "sessions"),
    ("tensorflow.python.framework.func_graph", watch_functions, "traces of functions"),
    ("tensorflow.python.framework.ops", watch_gradients, "gradients"),
    ("tensorflow.python.ops.script_ops", watch_py_functions, "Python functions"),
    ("tensorflow.python.eager.backprop", watch_tapes, "gradient tapes"),
    ("tensorflow.python.data.ops.iterator_ops", watch_iterators, "dataset iterators"),
    ("keras.src.trainers.trainer", watch_trainers, "Keras models"),
    ("keras.src.engine.training", watch_old_models, "Keras models"),
    ("keras.engine.training", watch_old_models, "Keras models"),
]
waiting = list(PROBES)


def is_imported(name):
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)


def install():
    """Installs what can be; whether there is nothing left to wait for soon."""
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
