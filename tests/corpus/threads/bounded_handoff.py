# cause: queue-with-bound
# class: threads
# report: https://docs.python.org/3/library/queue.html#queue.Queue
# verdict: plateau
# note: Queue(maxsize=64) makes the producer wait, so at most 64 blocks are alive.

import hashlib
import os
import queue
import random
import threading

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "1500"))


def produce(blocks):
    rng = random.Random(52)
    for _ in range(ITERATIONS):
        blocks.put(rng.randbytes(200_000))
    blocks.put(None)


def consume(blocks):
    digest = hashlib.md5()
    while (block := blocks.get()) is not None:
        digest.update(block)
        digest.update(block[::2])
    return digest.hexdigest()


def main():
    blocks = queue.Queue(maxsize=64)
    producer = threading.Thread(target=produce, args=(blocks,))
    producer.start()
    consume(blocks)
    producer.join()
    print(f"truth iterations={ITERATIONS}")


main()
