# cause: pending-work-items
# class: processes
# report: https://github.com/agronholm/pythonfutures/pull/57
# verdict: leak
# line: 25
# bytes-per-iteration: 10600
# holder: _pending_work_items
# fix: Semaphore, bound, chunks
# note: submit does not wait for the workers: arguments of calls that have not run stay in the executor's _pending_work_items.

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "3500"))


def index(document):
    time.sleep(0.1)
    return len(set(document.split()))


def document(number):
    return " ".join(f"word{number * n % 7919}" for n in range(1000))


class Indexer:
    def __init__(self):
        self.pool = ProcessPoolExecutor(max_workers=2, mp_context=multiprocessing.get_context("fork"))
        self.words = 0

    def add(self, text):
        self.pool.submit(index, text).add_done_callback(self.indexed)

    def indexed(self, future):
        if not future.cancelled():
            self.words += future.result()


def main():
    indexer = Indexer()
    for number in range(ITERATIONS):
        indexer.add(document(number))
    print(f"truth iterations={ITERATIONS}")
    indexer.pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    main()
