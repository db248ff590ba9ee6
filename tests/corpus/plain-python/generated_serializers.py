# cause: linecache-generated-code
# class: plain-python
# report: https://github.com/reagento/adaptix/issues/461
# verdict: leak
# line: 31
# bytes-per-iteration: 9800
# holder: linecache
# fix: linecache, pop, reuse, cache by shape
# note: The source of each generated function goes into linecache.cache under a new name, for tracebacks; linecache drops no entry without a file time.

import itertools
import linecache
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "2500"))
COUNTER = itertools.count(1)


class Compiler:
    """Writes a function for a list of field names and compiles it."""

    def source(self, fields):
        lines = ["def dump(row):", "    out = {}"]
        lines += [f"    out['{field}'] = str(row.get('{field}', ''))" for field in fields]
        lines.append("    return out")
        return "\n".join(lines) + "\n"

    def compile(self, fields):
        text = self.source(fields)
        filename = f"<generated dumper {next(COUNTER)}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        scope = {}
        exec(compile(text, filename, "exec"), scope)
        return scope["dump"]


def convert(number):
    fields = [f"column_{number}_{n:02d}_{'x' * 20}" for n in range(60)]
    dump = Compiler().compile(fields)
    return len(dump(dict.fromkeys(fields, number)))


written = sum(convert(number) for number in range(ITERATIONS))
print(f"truth iterations={ITERATIONS}")
