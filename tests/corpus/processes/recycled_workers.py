# cause: workers-recycled
# class: processes
# report: https://github.com/njcuk9999/apero-drs/issues/646
# verdict: clean
# note: A worker's list grows with each task, but maxtasksperchild ends the worker after forty tasks and a new one starts from nothing.

import multiprocessing
import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "5000"))
HISTORY = []


def simulate(seed):
    rng = random.Random(seed)
    path = [0.0]
    for _ in range(1500):
        path.append(path[-1] + rng.random() - 0.5)
    HISTORY.append(path)
    return max(path)


def main():
    context = multiprocessing.get_context("fork")
    highest = 0.0
    with context.Pool(2, maxtasksperchild=40) as pool:
        for peak in pool.imap_unordered(simulate, range(ITERATIONS)):
            highest = max(highest, peak)
    print(f"truth iterations={ITERATIONS}")


if __name__ == "__main__":
    main()
