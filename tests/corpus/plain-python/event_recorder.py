# cause: pickler-memo
# class: plain-python
# report: https://github.com/python/cpython/pull/125762
# verdict: leak
# line: 35
# bytes-per-iteration: 9800
# holder: Pickler
# fix: clear_memo, new Pickler, dumps
# note: One Pickler writes all records to a file; its memo keeps every object that it has written, to recognise it again.

import os
import pickle
import random
import tempfile

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "10000"))


class Recorder:
    def __init__(self, out):
        self.pickler = pickle.Pickler(out, protocol=5)
        self.written = 0

    def write(self, record):
        self.pickler.dump(record)
        self.written += 1


def measure(rng, number):
    samples = [rng.random() for _ in range(200)]
    samples.sort()
    return {
        "number": number,
        "median": samples[100],
        "trace": ",".join(f"{value:.6f}" for value in samples) * 5,
    }


def main():
    rng = random.Random(13)
    with tempfile.TemporaryFile() as out:
        recorder = Recorder(out)
        for number in range(ITERATIONS):
            recorder.write(measure(rng, number))
        print(f"truth iterations={ITERATIONS}")


if __name__ == "__main__":
    main()
