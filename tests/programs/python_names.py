"""Builds objects of many kinds, says on one line what they are called and how they lead to each other, and
stops itself.

The line is JSON: `steps` from object to object, `classes` of all that the collector has, `kept` others, `lengths`, `roots`,
`modules`, `weak` (pairs that do not hold each other), `parts` (bytes of blocks that belong to an object), `ends` (objects
and how long they are), `idle` (a list, and what lies in it no more; a dict, and what is a number in it; a lock, and what
lay where its semaphore is), `frozen` (code of the interpreter, and how long it is without what it does). Objects are identified by their `id()`. At last the allocator's own counts go to
the standard error.
"""

import array
import asyncio
import collections
import ctypes
import functools
import gc
import json
import os
import signal
import sys
import threading
import types
import weakref

TRUTH = {"steps": [], "classes": [], "lengths": [], "roots": [], "modules": [], "weak": [], "kept": [], "parts": [], "idle": [], "ends": [], "frozen": []}
KEEP = []
LENGTHS = []


def keep(value):
    KEEP.append(value)
    return value


def step(source, target, said):
    TRUTH["steps"].append([id(source), id(target), said])


def length(container):
    LENGTHS.append(container)
    return container


def root(variable, value):
    frame = sys._getframe(1)
    code = frame.f_code
    function = getattr(code, "co_qualname", code.co_name)
    thread = threading.get_native_id()
    TRUTH["roots"].append([function, code.co_filename, code.co_firstlineno, variable, thread, id(value)])


class Thing:
    """An object of no other use."""


class Attributes:
    shared = Thing()

    def __init__(self):
        self.first = Thing()
        self.second = Thing()
        self.third = 3

    def method(self):
        return self


class Small:
    def __init__(self):
        self.only = None


class Slots:
    __slots__ = ("left", "right", "__weakref__")


class MoreSlots(Slots):
    __slots__ = ("middle",)


class SlotsAndDict(Slots):
    pass


class Mapping(dict):
    pass


class Sequence(list):
    pass


class Pair(tuple):
    pass


class Meta(type):
    pass


class WithMeta(metaclass=Meta):
    class Inner:
        pass


class Trouble(Exception):
    pass


class Reference(weakref.ref):
    __slots__ = ("extra",)


def attributes():
    plain = keep(Attributes())
    step(plain, plain.first, "attribute first")
    step(plain, plain.second, "attribute second")
    step(plain, Attributes, "attribute __class__")
    step(Attributes, Attributes.shared, "attribute shared")
    step(Attributes, Attributes.__dict__["method"], "attribute method")
    with_dict = keep(Attributes())
    step(with_dict, keep(vars(with_dict)), "attribute __dict__")
    step(with_dict, with_dict.second, "attribute second")
    many = keep(Attributes())
    for number in range(60):
        setattr(many, "a%d" % number, Thing())
    step(many, many.a0, "attribute a0")
    step(many, many.a59, "attribute a59")
    step(many, many.second, "attribute second")
    other_order = keep(Attributes())
    del other_order.first
    other_order.late = Thing()
    other_order.first = Thing()
    step(other_order, other_order.first, "attribute first")
    step(other_order, other_order.late, "attribute late")
    replaced = keep(Attributes())
    replaced.__dict__ = {"other": Thing(), 1: Thing()}
    step(replaced, replaced.other, "attribute other")
    slots = keep(MoreSlots())
    slots.left, slots.middle = Thing(), Thing()
    step(slots, slots.left, "attribute left")
    step(slots, slots.middle, "attribute middle")
    both = keep(SlotsAndDict())
    both.right, both.loose = Thing(), Thing()
    step(both, both.right, "attribute right")
    step(both, both.loose, "attribute loose")
    for kind in (Mapping, Sequence, collections.OrderedDict, collections.Counter, set, types.SimpleNamespace):
        thing = keep(type("Sub", (kind,), {})())
        thing.extra = Thing()
        step(thing, thing.extra, "attribute extra")
    pair = keep(Pair((Thing(), Thing(), Thing())))
    pair.extra = Thing()
    step(pair, pair[1], "item 1")
    step(pair, pair.extra, "attribute extra")
    step(WithMeta, WithMeta.Inner, "attribute Inner")
    module = keep(types.ModuleType("made"))
    module.content = Thing()
    step(module, module.content, "attribute content")
    KEEP.append(WithMeta())


def containers():
    items = length([Thing() for _ in range(1000)])
    for index in (0, 1, 999):
        step(items, items[index], "item %d" % index)
    step(items, list, "attribute __class__")
    pair = length((Thing(), Thing()))
    step(pair, pair[1], "item 1")
    huge = length([None] * 300_000)
    huge[299_999] = Thing()
    step(huge, huge[-1], "item 299999")
    sequence = length(Sequence([Thing()]))
    step(sequence, sequence[0], "item 0")
    for elements in ({Thing()}, {Thing() for _ in range(5000)}, frozenset([Thing(), Thing()])):
        length(elements)
        for element in list(elements)[:3]:
            step(elements, element, "element")
    for size, popped in ((3, 0), (64, 10), (1000, 130), (65, 64)):
        queue = collections.deque(Thing() for _ in range(size))
        for _ in range(popped):
            queue.popleft()
        length(queue)
        for index in {0, len(queue) // 2, len(queue) - 1}:
            step(queue, queue[index], "item %d" % index)
    both_ends = length(collections.deque(maxlen=100))
    for _ in range(150):
        both_ends.appendleft(Thing())
    step(both_ends, both_ends[40], "item 40")
    length(bytearray(5000))
    length(array.array("d", [0.5] * 700))
    length(bytearray())


def dicts():
    other = Thing()
    keyed = length({
        "text": Thing(), "größe": Thing(), "ключ": Thing(), "🗝": Thing(), "x" * 100: Thing(), "two\nlines": Thing(),
        0: Thing(), 1 << 29: Thing(), -5: Thing(), 1 << 80: Thing(), -(1 << 64): Thing(), 1 << 400: Thing(),
        False + 0.5: Thing(), None: Thing(), (1, 2): Thing(), other: Thing(), b"bytes": Thing(),
    })
    said = [
        "'text'", "'größe'", "'ключ'", "'🗝'", "'%s…'" % ("x" * 40), "'two\ufffdlines'", "0", "536870912", "-5", str(1 << 80),
        str(-(1 << 64)), "<int>", "<float>", "None", "<tuple>", "<__main__.Thing>", "<bytes>",
    ]
    for value, text in zip(keyed.values(), said):
        step(keyed, value, "key " + text)
    step(keyed, other, "key object")
    flags = length({True: Thing(), False: Thing()})
    step(flags, flags[True], "key True")
    step(flags, flags[False], "key False")
    for size in (1, 5, 100, 300, 70_000):
        texts = length({"k%d" % number: None for number in range(size)})
        texts["k%d" % (size - 1)] = Thing()
        step(texts, texts["k%d" % (size - 1)], "key 'k%d'" % (size - 1))
        numbers = length({number: None for number in range(size)})
        del numbers[0]
        numbers[0] = Thing()
        step(numbers, numbers[0], "key 0")
    shared = length(vars(keep(Attributes())))
    step(shared, shared["second"], "key 'second'")
    empty = length({})
    ordered = length(collections.OrderedDict((number, Thing()) for number in range(50)))
    step(ordered, ordered[49], "key 49")
    default = length(collections.defaultdict(Thing))
    default["made"]
    step(default, default["made"], "key 'made'")
    step(default, Thing, "attribute default_factory")
    mapping = length(Mapping(a=Thing()))
    step(mapping, mapping["a"], "key 'a'")
    return empty


def make_closure():
    held, also, number = Thing(), Thing(), 1

    def closure(argument, default=Thing(), *, keyword=Thing()):
        nonlocal number
        number += 1
        return held, also, argument, default, keyword

    return closure


def functions():
    closure = keep(make_closure())
    for name, cell in zip(closure.__code__.co_freevars, closure.__closure__):
        step(closure, cell, "closure " + name)
        step(cell, cell.cell_contents, "contents")
    step(closure, closure.__defaults__[0], "default default")
    step(closure, closure.__kwdefaults__["keyword"], "default keyword")
    step(closure, closure.__code__, "attribute __code__")
    closure.remembered = Thing()
    step(closure, closure.remembered, "attribute remembered")
    owner = keep(Attributes())
    bound = keep(owner.method)
    step(bound, owner, "attribute __self__")
    builtin = keep(KEEP[0].__class__ and [].append)
    step(builtin, builtin.__self__, "attribute __self__")
    partial = keep(functools.partial(closure, Thing(), keyword=Thing()))
    step(partial, closure, "attribute func")
    step(partial, partial.args, "attribute args")
    for most in (None, 8):
        cached = keep(functools.lru_cache(most)(lambda key: Thing()))
        result = cached("first")
        step(cached, cached.__wrapped__, "attribute __wrapped__")
        (inner,) = [held for held in gc.get_referents(cached) if type(held) is dict and "__wrapped__" not in held]
        step(cached, inner, "attribute cache")
        TRUTH["lengths"].append([id(cached), 1])
        if most is None:
            step(cached, result, "key 'first'")
        else:
            (link,) = inner.values()
            step(cached, link, "key 'first'")
            step(link, result, "attribute result")
    prop = property(lambda self: None)
    step(keep(prop), prop.fget, "attribute fget")


def frames():
    def generate(argument):
        inner = Thing()
        yield inner, argument

    started = keep(generate(Thing()))
    inner, argument = next(started)
    step(started, inner, "local inner")
    step(started, argument, "local argument")
    fresh = keep(generate(Thing()))
    step(fresh, fresh.gi_frame.f_locals["argument"], "local argument")
    over = keep(generate(Thing()))
    list(over)

    async def coroutine(argument):
        mine = Thing()
        KEEP.append(mine)
        await asyncio.sleep(0)
        return argument, mine

    awaited = keep(coroutine(Thing()))
    awaited.send(None)
    step(awaited, KEEP[-1], "local mine")
    try:
        in_trouble(Thing())
    except Trouble as trouble:
        step(keep(trouble), trouble.__traceback__, "attribute __traceback__")
        step(trouble, trouble.args, "attribute args")
        step(trouble, trouble.note, "attribute note")
        last = trouble.__traceback__.tb_next
        step(trouble.__traceback__, last, "attribute tb_next")
        step(last, last.tb_frame, "attribute tb_frame")
        step(last.tb_frame, trouble.argument, "local argument")


def in_trouble(argument):
    trouble = Trouble("why", Thing())
    trouble.note = Thing()
    trouble.argument = argument
    raise trouble


def weak():
    target = keep(Attributes())
    slotted = keep(MoreSlots())
    for referent in (target, slotted, keep(collections.deque()), keep({Thing()}), keep(make_closure())):
        reference = keep(weakref.ref(referent, lambda _: None))
        keep(Reference(referent, lambda _: None)).extra = Thing()
        TRUTH["weak"] += [[id(reference), id(referent)], [id(KEEP[-1]), id(referent)]]
        step(KEEP[-1], KEEP[-1].extra, "attribute extra")
    proxy = keep(weakref.proxy(target))
    del proxy


def outer(argument):
    local, in_cell = Thing(), Thing()

    class Local:
        def middle(self, *rest):
            deep = in_cell
            root("self", self)
            root("rest", rest)
            root("deep", deep)
            # Counted with the cell, which has no name in Python.
            root("in_cell", [cell for cell in Local.middle.__closure__ if cell.cell_contents is in_cell][0])
            root("Local", [cell for cell in Local.middle.__closure__ if cell.cell_contents is Local][0])
            execute(deep)

    root("argument", argument)
    root("local", local)
    instance = Local()
    root("instance", instance)
    root("in_cell", [cell for cell in Local.middle.__closure__ if cell.cell_contents is in_cell][0])
    root("Local", [cell for cell in Local.middle.__closure__ if cell.cell_contents is Local][0])
    instance.middle(1, local)


def execute(argument):
    for only in list((argument,)):
        execute_in_loop(argument, only)


def execute_in_loop(argument, only):
    names = {"tell": tell, "own": argument}
    root("argument", argument)
    root("only", only)
    root("names", names)
    exec(compile("tell()", "<made>", "exec"), {}, names)


def worker(ready, never):
    mine = Thing()
    root("mine", mine)
    root("ready", ready)
    root("never", never)
    ready.set()
    never.acquire()


def threads():
    ready, never = threading.Event(), threading.Lock()
    never.acquire()
    KEEP.append(never)
    threading.Thread(target=worker, args=(ready, never), daemon=True).start()
    ready.wait()


def parts():
    """Containers whose memory beside their own is in small blocks, and its length."""
    ordered = collections.OrderedDict.fromkeys((1, 2, 3))
    nine = {number: number for number in range(9)}
    for container in ([1, 2, 3], {"a": 1}, {1: 2, "b": 3}, nine, set(range(7)), bytearray(90), ordered):
        beside = container.__sizeof__() - type(container).__basicsize__
        TRUTH["parts"].append([id(keep(container)), (beside + 15) // 16 * 16])
    TRUTH["parts"] += [[id(keep(empty)), 0] for empty in ([], set(), (1, 2), 7.5, "text")]
    if sys.version_info < (3, 11):
        # A dict and its values, which are often right after the object.
        for thing in [keep(Small()) for _ in range(1000)]:
            values = vars(thing).__sizeof__() - dict.__basicsize__
            TRUTH["parts"].append([id(thing), 64 + (values + 15) // 16 * 16])
    for whole in ("text" * 3, b"bytes" * 3, (1, 2, 3), (1, 2), [], {}, set(), 1 << 70, parts, (lambda: small).__closure__[0]):
        TRUTH["ends"].append([id(keep(whole)), whole.__sizeof__() - (8 * len(whole) if type(whole) is list else 0)])
    small = keep([Thing() for _ in range(20)])
    while len(small) > 15:
        TRUTH["idle"].append([id(small), id(keep(small.pop()))])
    numbered = {id(keep(thing)): "and what it holds" for thing in (Thing(), Thing())}
    TRUTH["idle"] += [[id(keep(numbered)), address] for address in numbered]
    for count in (2, 40):
        identities = keep({id(keep(thing)) for thing in [Thing() for _ in range(count)]})
        TRUTH["idle"] += [[id(identities), address] for address in identities]
    grown = keep({Thing()})
    first = keep(list(grown)[0])
    grown.update(keep([Thing() for _ in range(40)]))
    TRUTH["idle"].append([id(grown), id(first)])
    for lock in (threading.Lock, threading.RLock):
        old_words_of_semaphore(lock)
    code = keep((lambda: 1).__code__)
    if (3, 11) <= sys.version_info < (3, 13):
        frozen = sys.modules["_frozen_importlib"]._find_and_load.__code__
        TRUTH["frozen"].append([id(frozen), type(frozen).__basicsize__])
    TRUTH["ends"].append([id(code), type(code).__basicsize__])


def old_words_of_semaphore(kind):
    """A lock whose semaphore, where it has one, lies where an object's address was."""
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.free.argtypes = [ctypes.c_void_p]
    words = ctypes.c_uint64 * 4
    thing = keep(Thing())
    block = library.malloc(ctypes.sizeof(words))
    words.from_address(block)[:] = [id(thing)] * 4
    library.free(block)
    lock = keep(kind())
    if sys.version_info < (3, 14):
        TRUTH["idle"].append([id(lock), id(thing)])


def spell(kind):
    module, name = type.__dict__["__module__"].__get__(kind), type.__dict__["__qualname__"].__get__(kind)
    return name if module == "builtins" else "%s.%s" % (module, name)


def tell():
    texts = ["text %d" % number for number in range(1000)] + ["ä" * number for number in range(300)]
    texts[-1].encode()
    KEEP.append(texts)
    others = [b"bytes", 1 << 70, 7.25, 3j, range(3), slice(3), object()]
    KEEP.append(others)
    TRUTH["kept"] = [[id(thing), spell(type(thing))] for thing in texts + others]
    for name, module in list(sys.modules.items()):
        is_module = isinstance(module, types.ModuleType)
        TRUTH["modules"].append([name, id(vars(module)) if is_module else id(module)])
    TRUTH["lengths"] += [[id(container), len(container)] for container in LENGTHS]
    gc.collect()
    things = gc.get_objects()
    TRUTH["classes"] = [[id(thing), spell(type(thing))] for thing in things]
    TRUTH["version"] = sys.version_info[:2]
    line = json.dumps(TRUTH) + "\n"
    sys.stdout.write(line)
    sys.stdout.flush()
    sys.stderr.flush()
    stop, own, how = os.kill, os.getpid(), int(signal.SIGSTOP)
    sys._debugmallocstats()
    stop(own, how)


attributes()
containers()
dicts()
functions()
frames()
weak()
parts()
threads()
outer(Thing())
