# cause: unread-queue
# class: threads
# report: https://github.com/reddit/baseplate.py/issues/302
# verdict: leak
# line: 38
# bytes-per-iteration: 11800
# holder: Queue
# fix: maxsize, bound
# note: The receiver puts messages into a queue.Queue without a bound; the worker thread takes a tenth of them in the same time.

import os
import queue
import random
import threading

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "8000"))


class Worker(threading.Thread):
    def __init__(self, inbox):
        super().__init__(daemon=True)
        self.inbox = inbox
        self.step = threading.Semaphore(0)
        self.done = 0
        self.received = 0

    def run(self):
        while True:
            self.step.acquire()
            message = self.inbox.get()
            if message is None:
                return
            self.done += sum(message) % 2


def receive(inbox, worker, rng, count):
    for number in range(count):
        message = rng.randbytes(13_000)
        worker.received += sum(message)
        inbox.put(message)
        if number % 10 == 0:
            worker.step.release()


def main():
    inbox = queue.Queue()
    worker = Worker(inbox)
    worker.start()
    receive(inbox, worker, random.Random(50), ITERATIONS)
    print(f"truth iterations={ITERATIONS}")
    inbox.queue.clear()
    inbox.put(None)
    worker.step.release(ITERATIONS)
    worker.join()


main()
