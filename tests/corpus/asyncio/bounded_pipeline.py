# cause: queue-with-bound
# class: asyncio
# report: https://docs.python.org/3/library/asyncio-queue.html
# verdict: plateau
# note: The producer is faster, but put waits once a hundred blocks are in the queue.

import asyncio
import hashlib
import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "5000"))


async def produce(queue, rng):
    for _ in range(ITERATIONS):
        await queue.put(rng.randbytes(100_000))
    await queue.put(None)


async def consume(queue):
    digest = hashlib.sha1()
    while (block := await queue.get()) is not None:
        digest.update(block)
        await asyncio.sleep(0)
    return digest.hexdigest()


async def main():
    queue = asyncio.Queue(maxsize=100)
    producer = asyncio.create_task(produce(queue, random.Random(42)))
    await consume(queue)
    await producer
    print(f"truth iterations={ITERATIONS}")


asyncio.run(main())
