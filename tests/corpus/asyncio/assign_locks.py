# cause: locks-per-key
# class: asyncio
# report: https://github.com/AnthropicBots/hiero-bot-py/issues/88
# verdict: leak
# line: 20
# bytes-per-iteration: 4000
# holder: locks
# fix: pop, WeakValueDictionary, remove, prune
# note: One asyncio.Lock per issue is kept in a dictionary and never removed after the issue is done.

import asyncio
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "7000"))
locks = {}


def lock_for(issue):
    if issue not in locks:
        locks[issue] = asyncio.Lock()
    return locks[issue]


async def assign(issue, users):
    async with lock_for(issue):
        user = users[issue % len(users)]
        await asyncio.sleep(0)
        return user


async def webhook(number, users):
    issues = range(number * 24, number * 24 + 24)
    assigned = await asyncio.gather(*(assign(issue, users) for issue in issues))
    return len(set(assigned))


async def main():
    users = [f"user{n}" for n in range(17)]
    most = 0
    for number in range(ITERATIONS):
        most = max(most, await webhook(number, users))
    print(f"truth iterations={ITERATIONS}")


asyncio.run(main())
