"""Writes packages into the folder site-packages below argv[1], made of the seed argv[3], and imports them in all ways: nested and relative,
inside functions, lazily by a callback, in threads, beside threads, by `__import__` and `importlib`, with `exec`, as namespace packages, and by reload. Each
module keeps blocks of C's malloc while it is imported, argv[2] times. Says for each module, and the one that imported it, how many bytes and
blocks that is; and for each module of the user's own, which keeps its stacks. The thread is there before: what the C library allocates for a
new one depends on when the last one has left."""
import importlib
import json
import os
import random
import sys

FOLDER, TIMES, SEED = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
LIBRARIES = os.path.join(FOLDER, "site-packages")

# Library code, for whoever is being imported: what it keeps is that module's. Which that is it knows by itself.
BALLAST = """
import ctypes, queue, threading
malloc = ctypes.CDLL(None).malloc
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
state, truth, users, times = threading.local(), {}, {}, 0

def enter(name):
    if not hasattr(state, "stack"):
        state.stack = [None]
    state.stack.append(name)

def leave():
    state.stack.pop()

def top(at=-1):
    return getattr(state, "stack", [None])[at]

def keep(size, user=None):
    for _ in range(times):
        malloc(size)
    key = users if user else truth
    name = user or "%s<%s" % (top(), top(-2))
    bytes, blocks = key.get(name, (0, 0))
    key[name] = (bytes + size * times, blocks + times)

def called_back(function):
    function()

wanted, done = queue.SimpleQueue(), queue.SimpleQueue()

def work():
    while True:
        wanted.get()()
        done.put(None)

def elsewhere(function):
    if threading.current_thread() is worker:
        return
    wanted.put(function)
    done.get()

worker = threading.Thread(target=work, daemon=True)
worker.start()
"""


def write(folder, module, text):
    path = os.path.join(folder, *module.split(".")) + ".py"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


class Library:
    """Packages in which a module imports only those with higher numbers."""

    def __init__(self, chance):
        self.chance = chance
        self.names = []
        for package in range(4):
            is_namespace = package == 3
            base = "pack%d" % package
            if not is_namespace:
                self.names.append((base, base + ".__init__"))
            for module in range(3):
                self.names.append(("%s.part%d" % (base, module),) * 2)
                deep = "%s.deep%d.leaf" % (base, module)
                self.names.append((deep, deep))

    def write(self):
        for at, (name, file) in enumerate(self.names):
            later = [other for other, _ in self.names[at + 1:]]
            write(LIBRARIES, file, self.text(name, later))

    def text(self, name, later):
        draw = self.chance.random
        lines = ["import ballast", "ballast.enter(%r)" % name, "ballast.keep(%d)" % self.chance.randrange(600, 9000)]
        for other in self.chance.sample(later, min(len(later), self.chance.randrange(3))):
            way = self.chance.choice(WAYS) % {"name": other, "size": self.chance.randrange(600, 9000)}
            lines.append(way if draw() < 0.8 else "exec(%r)" % way)
            lines.append("ballast.keep(%d)" % self.chance.randrange(600, 9000))
        if draw() < 0.3:
            lines.append("exec('ballast.keep(%d)')" % self.chance.randrange(600, 9000))
        lines += ["def again(size):", "    ballast.keep(size)", "ballast.leave()"]
        lazy = self.chance.choice([other for other in later] or ["json"])
        return "\n".join(lines + ["def lazy():", "    import %s" % lazy]) + "\n"


WAYS = [
    "import %(name)s",
    "__import__(%(name)r)",
    "import importlib; importlib.import_module(%(name)r)",
    "(lambda: __import__(%(name)r))()",
    "ballast.elsewhere(lambda: ballast.keep(%(size)d, 'thread'))",
]


def main():
    chance = random.Random(SEED)
    sys.path.insert(0, LIBRARIES)
    write(LIBRARIES, "ballast", BALLAST)
    library = Library(chance)
    library.write()
    write(FOLDER, "own", "import ballast\nballast.keep(5000, 'own.py')\nimport pack1.part0\nballast.keep(7000, 'own.py')\n")
    import ballast

    ballast.times = TIMES
    modules = [name for name, _ in library.names]
    for name in chance.sample(modules, 6):
        way = chance.randrange(4)
        if way == 0:
            ballast.elsewhere(lambda: importlib.import_module(name))
        elif way == 1:
            ballast.called_back(lambda: importlib.import_module(name))
        elif way == 2:
            importlib.import_module(name).lazy()
        else:
            __import__(name)
    sys.path.insert(0, FOLDER)
    import own  # a module of the user's own keeps its stacks, and what it imports is folded

    loaded = [name for name in modules if name in sys.modules and name != "pack3"]
    for name in chance.sample(loaded, min(3, len(loaded))):
        importlib.reload(sys.modules[name])
    ballast.keep(4000, "python_imports.py")  # after all imports
    ballast.called_back(lambda: ballast.keep(3000, "python_imports.py"))
    print(json.dumps({"modules": ballast.truth, "users": ballast.users}))


main()
