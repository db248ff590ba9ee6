# cause: thread-local-cache
# class: threads
# report: https://github.com/cherrypy/cherrypy/issues/496
# verdict: leak
# line: 29
# bytes-per-iteration: 12100
# holder: known
# fix: clear, lru_cache, maxsize, bound
# note: Each of the two threads keeps the answers to all keys it has seen in its threading.local; the threads live as long as the program.

import os
import queue
import threading

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))


class Resolver:
    def __init__(self):
        self.local = threading.local()

    def resolve(self, name):
        known = self.local.__dict__.setdefault("known", {})
        if name not in known:
            known[name] = self.query(name)
        return known[name]

    def query(self, name):
        return b";".join(f"{name} 10.{n}.{n * 3 % 256}.1 ttl {n * 60}".encode() for n in range(320))


def serve(resolver, inbox, totals):
    while (name := inbox.get()) is not None:
        totals.append(len(resolver.resolve(name)))
        if len(totals) > 100:
            totals.clear()
        inbox.task_done()
    inbox.task_done()


def main():
    resolver = Resolver()
    inbox = queue.Queue(maxsize=50)
    threads = [threading.Thread(target=serve, args=(resolver, inbox, [])) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(ITERATIONS):
        inbox.put(f"host{number}.example")
    inbox.join()
    print(f"truth iterations={ITERATIONS}")
    for _ in threads:
        inbox.put(None)
    for thread in threads:
        thread.join()


main()
