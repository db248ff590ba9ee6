# cause: executor-per-tenant
# class: threads
# report: https://github.com/mem0ai/mem0/issues/4586
# verdict: leak
# line: 20
# bytes-per-iteration: 267000
# holder: local
# fix: shutdown, one executor, shared, reuse
# note: One executor per tenant is kept for ever; its thread waits for work and holds the scratch buffer in its thread-local data.

import os
import threading
from concurrent.futures import ThreadPoolExecutor

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "200"))
local = threading.local()


def prepare():
    local.scratch = bytearray(262_144)


def count(text):
    for position, letter in enumerate(text.encode()):
        local.scratch[position] = letter ^ 0x20
    return local.scratch.count(b"E")


class Tenants:
    def __init__(self):
        self.executors = {}

    def submit(self, tenant, text):
        if tenant not in self.executors:
            self.executors[tenant] = ThreadPoolExecutor(max_workers=1, initializer=prepare)
        return self.executors[tenant].submit(count, text)


def main():
    tenants = Tenants()
    found = 0
    for number in range(ITERATIONS):
        found += tenants.submit(f"tenant-{number}", "every letter here " * 3000).result()
    print(f"truth iterations={ITERATIONS}")
    for executor in tenants.executors.values():
        executor.shutdown()


main()
