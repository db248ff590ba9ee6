# cause: cancelled-timers-purged
# class: asyncio
# report: https://docs.python.org/3/library/asyncio-task.html#asyncio.wait_for
# verdict: clean
# note: Each call sets a timeout and cancels it at once; the loop drops cancelled timers when they are the larger part of its heap.

import asyncio
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "15000"))


class Sensor:
    def __init__(self):
        self.value = 1

    async def read(self):
        await asyncio.sleep(0)
        self.value = self.value * 48_271 % 2_147_483_647
        return [self.value % n for n in range(1, 400)]


async def poll(sensor):
    try:
        return sum(await asyncio.wait_for(sensor.read(), timeout=600))
    except asyncio.TimeoutError:
        return 0


async def main():
    sensor = Sensor()
    total = 0
    for _ in range(ITERATIONS):
        total += await poll(sensor)
    print(f"truth iterations={ITERATIONS}")


asyncio.run(main())
