"""Prints, for every code object of many sources, its line table and the line of each instruction as this interpreter
says it:

    KIND first_line table_in_hex line,line,…      0: no line
"""

import dis
import sys

SOURCES = [
    # Calls over several lines, with lines going back.
    """
def call(*words, **named):
    return words

value = call(
    1,
    call(
        2, 3,
        call(
            *[4,
              5],
            key=6,
        ),
    ),
    7,
)
total = (
    1 +
    len(str(
        value
    )) +
    2
)
""",
    # Exceptions.
    """
def caught(flag):
    try:
        try:
            if flag:
                raise ValueError(
                    flag
                )
        except (
            KeyError,
            ValueError,
        ) as error:
            print(error)
            raise
        else:
            print("else")
        finally:
            print("inner")
    except Exception:
        return 1
    finally:
        print("outer")
    while flag:
        try:
            continue
        finally:
            break
    return 2
""",
    # Comprehensions, lambdas, decorators, classes, with, defaults, nested functions.
    """
import contextlib, functools

@functools.wraps(
    print
)
@functools.lru_cache(maxsize=
    None)
def decorated(a, b=[
        x
        for x in range(3)
        if x
], *, c={
    k: v
    for k, v in
    zip("ab", "cd")
}):
    '''A docstring
    of two lines.'''
    with contextlib.suppress(Exception) as one, \\
            contextlib.suppress(
                KeyError
            ) as two:
        pass
    return (lambda x:
            x +
            1), {y for y in a}, (z
                                 for z in b)

class Body(
    dict,
    metaclass=type,
):
    field: int = 3

    @property
    def inner(self):
        def deeper():
            nonlocal_value = self
            return [
                [nonlocal_value
                 for _ in range(2)]
                for _ in
                range(3)
            ]
        return deeper

assert (
    decorated
), "text"
del contextlib
""",
    # Async.
    """
async def main(items):
    async with items as opened:
        async for item in opened:
            yield item
            await item(
                item,
                opened,
            )
    result = [
        await x
        async for x in items
        if x
    ]
async def plain():
    return await main(
        [])
def generator():
    got = yield
    yield from (
        generator()
    )
    return got
""",
    # A one-line program, an empty one, blank lines in front.
    "x = 1; y = 2; z = lambda: (x, y)",
    "",
    "\n" * 200 + "def far():\n" + "\n" * 300 + "    return far\n",
    # More than 300 lines, jumps of lines beyond a signed byte in both directions, much code on one line.
    "def long(a):\n" + "".join("    a = a + %d\n" % i for i in range(400)) + "    return a\n",
    "value = [\n" + "\n" * 500 + "    len('a'),\n" + "\n" * 300 + "    len('b')\n]\n",
    "def call(*a): return a\ncall(\n" + "".join("    call(%d),\n" % i for i in range(300)) + ")\n",
    "def wide(a):\n    return " + " + ".join("a[%d]" % i for i in range(400)) + "\n",
    "def deep():\n    for i in range(3):\n" + "".join(
        "%sif i:\n" % ("    " * (2 + d)) for d in range(15)) + "    " * 17 + "print(i)\n" + "    return i\n",
]

MATCHING = """
def matched(command):
    match command:
        case [
            "go",
            direction,
        ] if direction:
            return direction
        case {"x": 1, **rest}:
            return rest
        case str() | int():
            pass
        case _:
            return None
"""

GROUPS = """
def groups():
    try:
        raise ExceptionGroup("a", [ValueError(1)])
    except* ValueError as group:
        print(
            group)
    except* (KeyError,
             TypeError):
        pass
"""

TYPES = """
type Alias[T] = dict[
    str, T
]
def generic[T: (
    int, str
)](x: T) -> T:
    return f"{x!r:>{
        10
    }} {[
        y for y in x
    ]}"
class Generic[T]: pass
"""

if sys.version_info >= (3, 10):
    SOURCES.append(MATCHING)
if sys.version_info >= (3, 11):
    SOURCES.append(GROUPS)
if sys.version_info >= (3, 12):
    SOURCES.append(TYPES)


def generated():
    """Trees whose nodes have no, negative-going or scattered lines, as code generators leave them."""
    import ast

    tree = ast.parse("def made(a):\n    b = a + 1\n    c = b(a)\n    return c\nmade(len)\n")
    for place, node in enumerate(ast.walk(tree)):
        if hasattr(node, "lineno"):
            node.lineno = (place * 7919) % 1000 + 1
            node.end_lineno = node.lineno
    yield compile(tree, "<scattered>", "exec")
    tree = ast.parse("for i in range(3):\n    x = [i for _ in 'ab']\n")
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = 1
            node.col_offset = node.end_col_offset = 0
    yield compile(tree, "<one line>", "exec")
    yield eval("lambda: 1").__code__
    made = caught_code()
    if hasattr(made, "replace"):
        yield made.replace(co_firstlineno=100000)
        yield made.replace(co_firstlineno=0)
    if sys.version_info >= (3, 11):
        yield made.replace(co_linetable=b"")
        # Every instruction without a line.
        units = len(made.co_code) // 2
        yield made.replace(co_linetable=b"\xff" * (units // 8) + bytes([0xf8 | (units - 1) % 8]))


def caught_code():
    return nested(compile(SOURCES[1], "<caught>", "exec"))[1]


def nested(code):
    found = [code]
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            found.extend(nested(constant))
    return found


def standard_library():
    """Real modules: all that a language has, and long ones."""
    import importlib.util

    for name in ["argparse", "asyncio.base_events", "dataclasses", "enum", "tarfile"]:
        try:
            spec = importlib.util.find_spec(name)
            with open(spec.origin, encoding="utf-8") as file:
                yield file.read()
        except (ImportError, AttributeError, OSError):
            continue


def lines_of(code):
    units = len(code.co_code) // 2
    lines = [0] * units
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            for unit in range(start // 2, min(end // 2, units)):
                lines[unit] = line or 0
        return lines
    starts = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for unit in range(units):
        line = starts.get(2 * unit, line)
        lines[unit] = max(line, 0)
    return lines


def table_of(code):
    if sys.version_info >= (3, 11):
        return 3, code.co_linetable
    if sys.version_info >= (3, 10):
        return 2, code.co_linetable
    return 1, code.co_lnotab


def main():
    sources = SOURCES + list(standard_library())
    codes = [compile(source, "<source>", "exec") for source in sources] + list(generated())
    for outer in codes:
        for code in nested(outer):
            kind, table = table_of(code)
            lines = ",".join(map(str, lines_of(code)))
            print(kind, code.co_firstlineno, table.hex() or "-", lines or "-")


main()
