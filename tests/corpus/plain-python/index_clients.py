# cause: finalizer-holds-object
# class: plain-python
# report: https://github.com/redis/redis-vl-python/issues/656
# verdict: leak
# line: 22
# bytes-per-iteration: 14000
# holder: finalize
# fix: staticmethod, bound, finalize, weak
# note: The finalizer gets a bound method; weakref.finalize keeps its callback in a class-level registry, so the object it should watch is alive through it.

import json
import os
import weakref

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "5000"))


class SearchIndex:
    def __init__(self, name, fields):
        self.name = name
        self.connected = True
        self.schema = json.dumps({"name": name, "fields": [{"name": f, "kind": "text", "weight": 1.0, "no_stem": False} for f in fields]}).encode()
        weakref.finalize(self, self.disconnect)

    def disconnect(self):
        self.connected = False

    def query(self, text):
        return self.schema.count(text.encode())


def answer(number):
    index = SearchIndex(f"documents-{number}", [f"field_{number}_{n:03d}" for n in range(180)])
    return index.query("field") + index.query("weight")


def main():
    hits = sum(map(answer, range(ITERATIONS)))
    print(f"truth iterations={ITERATIONS}")
    return hits


main()
