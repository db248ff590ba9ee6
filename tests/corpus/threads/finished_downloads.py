# cause: finished-threads-kept
# class: threads
# report: https://github.com/mixcloud/django-speedbar/pull/2
# verdict: leak
# line: 26
# bytes-per-iteration: 18500
# holder: threads
# fix: remove, join, executor, weak
# note: The list of threads is kept to join them at the end; each Thread object carries the body that it fetched.

import os
import random
import threading

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "5000"))


class Download(threading.Thread):
    def __init__(self, number):
        super().__init__(name=f"download-{number}")
        self.number = number
        self.body = None

    def run(self):
        rng = random.Random(self.number)
        self.body = rng.randbytes(16_000)

    def size(self):
        return len(self.body)


class Manager:
    def __init__(self):
        self.threads = []

    def fetch(self, number):
        thread = Download(number)
        self.threads.append(thread)
        thread.start()
        thread.join()
        return thread.size()

    def shutdown(self):
        for thread in self.threads:
            thread.join()


manager = Manager()
fetched = 0
for number in range(ITERATIONS):
    fetched += manager.fetch(number)
manager.shutdown()
print(f"truth iterations={ITERATIONS}")
