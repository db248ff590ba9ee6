# cause: copy-on-write
# class: processes
# report: https://github.com/pytorch/pytorch/issues/13246
# verdict: plateau
# note: The parent loads a large list and forks; reading it changes reference counts, so the children get pages of their own, up to the size of the list and no further.

import multiprocessing
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "400"))
NAMES = [f"name {n} of the loaded list" for n in range(120_000)]


def matching(part):
    start = part * 1000 % len(NAMES)
    found = 0
    for name in NAMES[start : start + 30_000]:
        if name.startswith("name 1"):
            found += 1
    return found


def main():
    total = 0
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for part in range(0, ITERATIONS, 20):
            total += sum(pool.map(matching, range(part, min(part + 20, ITERATIONS))))
    print(f"truth iterations={ITERATIONS}")
    return total


if __name__ == "__main__":
    main()
