# cause: default-executor-warms-up
# class: asyncio
# report: https://docs.python.org/3/library/asyncio-task.html#asyncio.to_thread
# verdict: plateau
# note: to_thread starts threads of the default executor one after the other until it has them all; each has a scratch buffer from then on.

import asyncio
import os
import threading
import zlib

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "1500"))
local = threading.local()


def compress(number):
    scratch = getattr(local, "scratch", None)
    if scratch is None:
        scratch = local.scratch = bytearray(512 * 1024)
    for offset in range(0, 20_000, 8):
        scratch[offset : offset + 8] = (offset * number).to_bytes(8, "little")
    return len(zlib.compress(scratch[:20_000], 1))


async def main():
    size = 0
    number = 0
    while number < ITERATIONS:
        batch = range(number, min(number + 10, ITERATIONS))
        size += sum(await asyncio.gather(*(asyncio.to_thread(compress, n) for n in batch)))
        number += 10
    print(f"truth iterations={ITERATIONS}")


asyncio.run(main())
