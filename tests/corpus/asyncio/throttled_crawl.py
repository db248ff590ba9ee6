# cause: gather-in-batches
# class: asyncio
# report: https://docs.python.org/3/library/asyncio-task.html#asyncio.gather
# verdict: clean
# note: Batches of forty pages are gathered under a semaphore and reduced to a number; the pages go with the batch.

import asyncio
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "10000"))
BATCH = 40


async def fetch(gate, number):
    async with gate:
        await asyncio.sleep(0)
        return "".join(f'<a href="/page/{number * n % 5000}">{n}</a>' for n in range(300))


async def crawl(gate, numbers):
    pages = await asyncio.gather(*(fetch(gate, number) for number in numbers))
    return sum(page.count("href") for page in pages)


async def main():
    gate = asyncio.Semaphore(10)
    links = 0
    start = 0
    while start < ITERATIONS:
        links += await crawl(gate, range(start, min(start + BATCH, ITERATIONS)))
        start += BATCH
    print(f"truth iterations={ITERATIONS}")
    return links


asyncio.run(main())
