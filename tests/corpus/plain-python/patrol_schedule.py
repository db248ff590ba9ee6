# cause: events-never-due
# class: plain-python
# report: https://docs.python.org/3/library/sched.html
# verdict: leak
# line: 41
# bytes-per-iteration: 8800
# holder: _queue
# fix: cancel, due, bound
# note: Each tick of the scheduler enters an escalation for the next year and nobody cancels it when the tick is done; the heap of events keeps its report.

import os
import sched

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))
YEAR = 365 * 24 * 3600


class Clock:
    def __init__(self):
        self.now = 0.0

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Finished(Exception):
    pass


class Patrol:
    def __init__(self, clock):
        self.scheduler = sched.scheduler(clock.time, clock.sleep)
        self.ticks = 0
        self.alarms = 0

    def report(self):
        rooms = sorted((self.ticks * n) % 1009 for n in range(420))
        return "; ".join(f"room {n} value {value}" for n, value in enumerate(rooms))

    def escalate(self, report):
        self.alarms += 1

    def tick(self):
        self.ticks += 1
        self.scheduler.enter(YEAR, 1, self.escalate, (self.report(),))
        if self.ticks == ITERATIONS:
            print(f"truth iterations={ITERATIONS}")
            raise Finished
        self.scheduler.enter(1.0, 2, self.tick)


patrol = Patrol(Clock())
patrol.scheduler.enter(0.0, 2, patrol.tick)
try:
    patrol.scheduler.run()
except Finished:
    pass
