# cause: timers-never-cancelled
# class: threads
# report: https://github.com/python/cpython/issues/83382
# verdict: leak
# line: 20
# bytes-per-iteration: 135000
# holder: Timer
# fix: cancel, one timer, sched
# note: Each session starts a threading.Timer of one hour; the thread waits and keeps the session through its arguments.

import os
import threading

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "250"))


class Session:
    def __init__(self, number):
        self.number = number
        self.frame = bytearray(131_072)
        self.open = True

    def work(self):
        for offset in range(0, len(self.frame), 3):
            self.frame[offset] = (offset * self.number) % 251
        return sum(self.frame[::64])

    def expire(self):
        self.open = False


class Sessions:
    def start(self, number):
        session = Session(number)
        timer = threading.Timer(3600, session.expire)
        timer.daemon = True
        timer.start()
        return session


def main():
    sessions = Sessions()
    total = 0
    for number in range(ITERATIONS):
        total += sessions.start(number).work()
    print(f"truth iterations={ITERATIONS}")
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()


main()
