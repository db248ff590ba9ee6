# cause: tasks-discarded-when-done
# class: asyncio
# report: https://docs.python.org/3/library/asyncio-task.html#asyncio.create_task
# verdict: clean
# note: The set of background tasks is emptied by a done callback; it never holds more than a few.

import asyncio
import json
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "4000"))
background = set()


async def notify(number):
    await asyncio.sleep(0)
    return json.dumps([{"id": n, "seen": n % 2 == 0, "text": f"{number} {n}"} for n in range(150)])


def spawn(coroutine):
    task = asyncio.create_task(coroutine)
    background.add(task)
    task.add_done_callback(background.discard)


async def main():
    most = 0
    for number in range(ITERATIONS):
        spawn(notify(number))
        most = max(most, len(background))
        await asyncio.sleep(0)
    while background:
        await asyncio.sleep(0.001)
    print(f"truth iterations={ITERATIONS}")
    return most


asyncio.run(main())
