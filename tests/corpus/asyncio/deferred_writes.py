# cause: coroutines-never-awaited
# class: asyncio
# report: https://docs.python.org/3/library/asyncio-dev.html#detect-never-awaited-coroutines
# verdict: leak
# line: 39
# bytes-per-iteration: 15200
# holder: later
# fix: await, close, create_task, gather
# note: Writes for later are collected as coroutine objects; a coroutine that is not started keeps its arguments, here the text, and no one runs them.

import asyncio
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))


class Writer:
    def __init__(self):
        self.later = []
        self.urgent = 0

    async def write(self, name, text):
        await asyncio.sleep(0)
        return len(name) + len(text)

    async def submit(self, number, text):
        job = self.write(f"page-{number}", text)
        if number % 50 == 0:
            self.urgent += await job
        else:
            self.later.append(job)

    def drop(self):
        for job in self.later:
            job.close()


def page(number):
    return "\n".join(f"<p id='{number}-{n}'>{'lorem ipsum ' * 4}</p>" for n in range(225))


async def main():
    writer = Writer()
    for number in range(ITERATIONS):
        await writer.submit(number, page(number))
    print(f"truth iterations={ITERATIONS}")
    writer.drop()


asyncio.run(main())
