# cause: buffer-cleared-per-epoch
# class: plain-python
# report: https://docs.python.org/3/tutorial/datastructures.html#more-on-lists
# verdict: clean
# note: The list of records grows for a hundred iterations, is summed up and cleared; the next epoch starts from nothing.

import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "15000"))
EPOCH = 100


class Epochs:
    def __init__(self):
        self.records = []
        self.means = []

    def add(self, record):
        self.records.append(record)
        if len(self.records) == EPOCH:
            self.finish()

    def finish(self):
        total = sum(value for record in self.records for value in record["values"])
        if len(self.means) < 10:
            self.means.append(total)
        else:
            self.means[-1] = total
        self.records.clear()


def record(rng, step):
    return {"step": step, "values": [rng.random() for _ in range(900)], "note": f"step {step}" * 20}


epochs = Epochs()
rng = random.Random(12)
[epochs.add(record(rng, step)) for step in range(ITERATIONS)]
print(f"truth iterations={ITERATIONS}")
