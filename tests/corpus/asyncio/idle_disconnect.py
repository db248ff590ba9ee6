# cause: context-kept-by-timer
# class: asyncio
# report: https://github.com/aio-libs/aiohttp/issues/3938
# verdict: leak
# line: 37
# bytes-per-iteration: 14200
# holder: TimerHandle
# fix: cancel, context, reset
# note: A timer of one hour is set per request; its handle keeps a copy of the context, and the context variable in it keeps the request.

import asyncio
import contextvars
import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))
current = contextvars.ContextVar("current")


class Keepalive:
    def __init__(self, loop):
        self.loop = loop
        self.closed = 0

    def close(self):
        self.closed += 1

    def touch(self):
        self.loop.call_later(3600, self.close)


def checksum():
    return sum(current.get()[::3]) % 65_536


async def handle(keepalive, rng):
    current.set(rng.randbytes(13_800))
    keepalive.touch()
    await asyncio.sleep(0)
    return checksum()


async def main():
    keepalive = Keepalive(asyncio.get_running_loop())
    rng = random.Random(41)
    seen = 0
    for _ in range(ITERATIONS):
        seen ^= await asyncio.create_task(handle(keepalive, rng))
    print(f"truth iterations={ITERATIONS}")


asyncio.run(main())
