# cause: process-queue-without-consumer
# class: processes
# report: https://docs.python.org/3/library/multiprocessing.html#multiprocessing.Queue
# verdict: leak
# line: 33
# bytes-per-iteration: 12400
# holder: _buffer
# fix: maxsize, bound, consume
# note: The child reads an event now and then; the pipe is full, so events stay in the parent in the buffer of the queue's feeder thread.

import multiprocessing
import os
import random
import time

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "8000"))


def dashboard(events):
    shown = 0
    while True:
        event = events.get()
        shown += len(event)
        time.sleep(0.05)


class Feed:
    def __init__(self, events):
        self.events = events
        self.rng = random.Random(60)

    def tick(self, number):
        picture = self.rng.randbytes(12_300)
        self.events.put(picture)
        return sum(picture) + number


def main():
    context = multiprocessing.get_context("fork")
    events = context.Queue()
    child = context.Process(target=dashboard, args=(events,), daemon=True)
    child.start()
    feed = Feed(events)
    total = 0
    for number in range(ITERATIONS):
        total += feed.tick(number)
    print(f"truth iterations={ITERATIONS}")
    events.cancel_join_thread()
    child.terminate()
    child.join()


main()
