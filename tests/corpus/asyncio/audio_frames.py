# cause: async-queue-without-consumer
# class: asyncio
# report: https://github.com/m96-chan/ProcTap/issues/24
# verdict: leak
# line: 25
# bytes-per-iteration: 12400
# holder: Queue
# fix: maxsize, bound, drop
# note: The capture puts frames into an asyncio.Queue without a bound; the player takes one of ten.

import asyncio
import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))


class Capture:
    def __init__(self):
        self.frames = asyncio.Queue()
        self.rng = random.Random(40)
        self.peak = 0

    def frame(self):
        return self.rng.randbytes(13_700)

    async def record(self, count):
        for _ in range(count):
            frame = self.frame()
            self.peak = max(self.peak, sum(frame))
            await self.frames.put(frame)
            await asyncio.sleep(0)


class Player:
    def __init__(self, capture):
        self.capture = capture
        self.level = 0.0

    async def play(self):
        while True:
            frame = await self.capture.frames.get()
            self.level = max(self.level, sum(frame) / len(frame))
            for _ in range(9):
                await asyncio.sleep(0)


async def main():
    capture = Capture()
    player = asyncio.create_task(Player(capture).play())
    await capture.record(ITERATIONS)
    print(f"truth iterations={ITERATIONS}")
    player.cancel()


asyncio.run(main())
