"""Loops that run side by side from the first to the last moment of the program, in one thread; every iteration allocates something that
`malloc` sees. Says which of them counts, by how many iterations it made and where it is."""
import asyncio
import sys

kept = []


def work(size=5000):
    """One event: a block too large for Python's own allocator."""
    kept.append(bytearray(size))
    if len(kept) > 50:
        kept.clear()


def take_time():
    """So that the loops run for long compared with the moment in which the next one is started."""
    sum(range(100_000))


def say(kind, iterations, exact, function, offset):
    print("loop", kind, iterations, "exact" if exact else "about", function.__code__.co_firstlineno + offset, flush=True)


async def rows():
    for _ in range(40):
        work()
    await asyncio.sleep(0)


async def requests(number):
    for _ in range(number):
        work(6000)
        take_time()
        await asyncio.create_task(rows())


def tasks():
    """What a task does is not inside the loop that waits for it, but there is one for each of its iterations."""
    asyncio.run(requests(60))
    say("tasks", 60, True, requests, 1)


async def first():
    for _ in range(130):
        work()
        take_time()
        await asyncio.sleep(0)


async def second():
    for _ in range(120):
        work()
        take_time()
        await asyncio.sleep(0)


async def both():
    await asyncio.gather(second(), first())


def twins():
    """Both begin and end within a moment."""
    asyncio.run(both())
    say("twins", 130, True, first, 1)


async def produce(queue):
    for _ in range(200):
        work()
        take_time()
        await queue.put(None)
        await asyncio.sleep(0)
    await queue.put(1)


async def consume(queue):
    while await queue.get() is None:
        work(6000)


async def connect():
    queue = asyncio.Queue()
    await asyncio.gather(consume(queue), produce(queue))


def queue():
    """One of them knows its iterations."""
    asyncio.run(connect())
    say("queue", 200, True, produce, 1)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
