# cause: timers-cancelled
# class: threads
# report: https://docs.python.org/3/library/threading.html#threading.Timer
# verdict: clean
# note: Each job has a watchdog timer that is cancelled and joined when the job is done.

import os
import threading

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "4000"))


class Watchdog:
    def __init__(self, seconds):
        self.timer = threading.Timer(seconds, self.bark)
        self.barked = False

    def bark(self):
        self.barked = True

    def __enter__(self):
        self.timer.start()
        return self

    def __exit__(self, *error):
        self.timer.cancel()
        self.timer.join()


def job(number):
    table = {n: str(n * number) for n in range(1000)}
    return max(table.values())


longest = ""
for number in range(ITERATIONS):
    with Watchdog(30) as dog:
        longest = max(longest, job(number), key=len)

print(f"truth iterations={ITERATIONS}")
