# cause: malloc-arenas
# class: threads
# report: https://github.com/python/cpython/issues/98467
# verdict: plateau
# note: Six threads allocate and free blocks below the mmap threshold; glibc keeps an arena per thread, so the process grows at first and then stays.

import os
import random
import threading

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "12000"))


class Mixer(threading.Thread):
    def __init__(self, seed, rounds):
        super().__init__()
        self.rng = random.Random(seed)
        self.rounds = rounds
        self.level = 0

    def run(self):
        for _ in range(self.rounds):
            blocks = [bytearray(self.rng.randrange(2_000, 90_000)) for _ in range(16)]
            self.level += sum(len(block) for block in blocks[::2])


def main():
    threads = [Mixer(seed, ITERATIONS // 6 + (seed < ITERATIONS % 6)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"truth iterations={ITERATIONS}")


main()
