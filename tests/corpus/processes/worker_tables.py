# cause: worker-process-cache
# class: processes
# report: https://github.com/mementum/backtrader/pull/417
# verdict: leak
# line: 20
# bytes-per-iteration: 13200
# holder: TABLES
# fix: maxtasksperchild, bound, maxsize, lru_cache
# note: Each worker of the pool keeps a table per task in a module global; the parent does not grow. The bytes are those of both workers together.

import multiprocessing
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "8000"))
TABLES = {}


def table(strategy):
    if strategy not in TABLES:
        TABLES[strategy] = [(strategy * 31 + n * n) % 100_003 / 7 for n in range(400)]
    return TABLES[strategy]


def backtest(strategy):
    values = table(strategy)
    profit = 0.0
    for before, after in zip(values, values[1:]):
        if after > before:
            profit += after - before
    return profit


def main():
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        best = 0.0
        for profit in pool.imap_unordered(backtest, range(ITERATIONS), chunksize=20):
            best = max(best, profit)
    print(f"truth iterations={ITERATIONS}")
    return best


if __name__ == "__main__":
    main()
