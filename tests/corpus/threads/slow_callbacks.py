# cause: executor-backlog
# class: threads
# report: https://github.com/antonioterpin/tinyros/issues/15
# verdict: leak
# line: 35
# bytes-per-iteration: 11000
# holder: work_queue
# fix: Semaphore, bound, maxsize, max_pending
# note: submit never waits: the work items of calls that the four threads have not reached stay in the executor's queue, with their arguments.

import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "8000"))


class Server:
    def __init__(self):
        self.pool = ThreadPoolExecutor(max_workers=4)
        self.release = threading.Event()
        self.handled = 0

    def callback(self, topic, payload):
        self.release.wait()
        self.handled += len(payload)

    def incoming(self, topic, payload):
        self.pool.submit(self.callback, topic, payload)


def messages(rng):
    while True:
        yield f"topic/{rng.randrange(9)}", rng.randbytes(8600)


def main():
    server = Server()
    source = messages(random.Random(51))
    for _ in range(ITERATIONS):
        server.incoming(*next(source))
    print(f"truth iterations={ITERATIONS}")
    server.release.set()
    server.pool.shutdown(cancel_futures=True)


main()
