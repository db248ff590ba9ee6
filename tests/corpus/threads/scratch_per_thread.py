# cause: thread-pool-warms-up
# class: threads
# report: https://docs.python.org/3/library/concurrent.futures.html#threadpoolexecutor
# verdict: plateau
# note: Eight threads come into being as work arrives, each with a scratch table of its own; after that nothing is added.

import os
import threading
from concurrent.futures import ThreadPoolExecutor

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "1500"))


class Matcher:
    def __init__(self):
        self.local = threading.local()

    def table(self):
        if not hasattr(self.local, "rows"):
            self.local.rows = [[0] * 300 for _ in range(300)]
        return self.local.rows

    def distance(self, left, right):
        rows = self.table()
        for i in range(len(left)):
            for j in range(len(right)):
                cost = left[i] != right[j]
                rows[i + 1][j + 1] = min(rows[i][j] + cost, rows[i][j + 1] + 1, rows[i + 1][j] + 1)
        return rows[len(left)][len(right)]


def main():
    matcher = Matcher()
    with ThreadPoolExecutor(max_workers=8) as pool:
        pending = []
        total = 0
        for number in range(ITERATIONS):
            pending.append(pool.submit(matcher.distance, f"{number:b}" * 6, f"{number * 3:b}" * 6))
            if len(pending) == 16:
                total += sum(future.result() for future in pending)
                pending.clear()
    print(f"truth iterations={ITERATIONS}")
    return total


if __name__ == "__main__":
    main()
