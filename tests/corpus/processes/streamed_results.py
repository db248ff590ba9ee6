# cause: results-consumed
# class: processes
# report: https://docs.python.org/3/library/multiprocessing.html#multiprocessing.pool.Pool.imap
# verdict: clean
# note: Results of imap are read as they arrive and reduced to a count; neither side keeps them.

import collections
import multiprocessing
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "4000"))


def tokens(number):
    text = " ".join(f"{'abcdefgh'[n % 8]}{number * n % 13}" for n in range(1500))
    return collections.Counter(text.split())


def main():
    totals = collections.Counter()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        results = pool.imap(tokens, range(ITERATIONS), chunksize=10)
        for counts in results:
            totals.update(counts)
    print(f"truth iterations={ITERATIONS}")
    return totals.most_common(3)


if __name__ == "__main__":
    main()
