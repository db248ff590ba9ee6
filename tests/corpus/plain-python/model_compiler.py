# cause: gc-disabled-cycles
# class: plain-python
# report: https://github.com/inmanta/inmanta-core/pull/10667
# verdict: growth
# line: 28
# bytes-per-iteration: 21400
# holder: -
# fix: gc.collect, gc.enable, weakref, cycle
# note: The collector is off for speed while rules are resolved, and each resolver, with the text of its model, is in a cycle with its statements: garbage waits until it is switched on again.

import gc
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "4000"))


class Statement:
    def __init__(self, resolver, line):
        self.resolver = resolver
        self.line = line

    def text(self):
        return self.resolver.source.split("\n")[self.line]


class Resolver:
    def __init__(self, number):
        self.source = "\n".join(f"entity {number}.{n} requires {number}.{n * 7 % 500}, {number}.{n // 2}" for n in range(500))
        self.first = Statement(self, 0)
        self.last = Statement(self, 499)

    def order(self):
        return sorted(self.source.split("\n"), key=len)


def compile_model(number):
    resolver = Resolver(number)
    return len(resolver.order()[0]) + len(resolver.last.text())


def main():
    gc.disable()
    total = 0
    for number in range(ITERATIONS):
        total += compile_model(number)
    print(f"truth iterations={ITERATIONS}")
    gc.enable()
    gc.collect()


main()
