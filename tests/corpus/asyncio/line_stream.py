# cause: async-for-streaming
# class: asyncio
# report: https://docs.python.org/3/reference/compound_stmts.html#async-for
# verdict: clean
# note: Lines flow through two async generators; only running sums are kept.

import asyncio
import json
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "3000"))


async def chunks():
    for number in range(ITERATIONS):
        await asyncio.sleep(0)
        yield "\n".join(json.dumps({"n": number * 100 + row, "load": row % 17}) for row in range(100)) + "\n"


async def records(source):
    rest = ""
    async for chunk in source:
        *lines, rest = (rest + chunk).split("\n")
        for line in lines:
            yield json.loads(line)


async def main():
    load = count = 0
    async for record in records(chunks()):
        load += record["load"]
        count += 1
    print(f"truth iterations={ITERATIONS}")
    return load / max(count, 1)


asyncio.run(main())
