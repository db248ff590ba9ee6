# cause: tasks-kept
# class: asyncio
# report: https://github.com/ETS-Next-Gen/writing_observer/pull/192
# verdict: leak
# line: 22
# bytes-per-iteration: 11600
# holder: background
# fix: discard, add_done_callback, remove
# note: The set keeps the tasks alive, as the documentation asks, but nobody removes a finished task, and a task keeps its result.

import asyncio
import json
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "3000"))
background = set()


async def enrich(number):
    await asyncio.sleep(0)
    rows = [{"id": n, "score": (n * number) % 997, "tags": ["new", "open"]} for n in range(200)]
    return json.dumps(rows)


def spawn(coroutine):
    task = asyncio.create_task(coroutine)
    background.add(task)
    return task


async def handle(number):
    spawn(enrich(number))
    await asyncio.sleep(0)
    return number % 7


async def main():
    answers = 0
    for number in range(ITERATIONS):
        answers += await handle(number)
    await asyncio.sleep(0.01)
    print(f"truth iterations={ITERATIONS}")
    return answers


asyncio.run(main())
