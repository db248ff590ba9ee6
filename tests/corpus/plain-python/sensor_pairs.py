# cause: tee-runs-apart
# class: plain-python
# report: https://docs.python.org/3/library/itertools.html#itertools.tee
# verdict: leak
# line: 20
# bytes-per-iteration: 9200
# holder: tee
# fix: zip, advance, in step, islice
# note: tee keeps what one of its iterators has seen and the other has not; the second one is asked for its first value only, for ever.

import itertools
import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "3500"))


def readings(rng, count):
    for number in range(count):
        yield number, rng.randbytes(9000)


def smooth(frames):
    level = 0.0
    for number, frame in frames:
        level = 0.9 * level + 0.1 * sorted(frame)[len(frame) // 2]
        yield number, level


class Monitor:
    def __init__(self, source):
        self.live, self.replay = itertools.tee(source)
        self.first = next(self.replay)

    def run(self):
        high = 0.0
        for number, level in smooth(self.live):
            high = max(high, level)
        return high


def main():
    monitor = Monitor(readings(random.Random(2), ITERATIONS))
    monitor.run()
    print(f"truth iterations={ITERATIONS}")


main()
