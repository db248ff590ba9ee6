# cause: async-generators-suspended
# class: asyncio
# report: https://github.com/python/cpython/issues/88684
# verdict: leak
# line: 23
# bytes-per-iteration: 14700
# holder: cursors
# fix: aclose, aclosing, remove, pop
# note: A cursor is an async generator that is left after its first page and stays in the dictionary, with its rows in its frame.

import asyncio
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "8000"))
PAGE = 20


class Database:
    def __init__(self):
        self.cursors = {}

    async def pages(self, query):
        rows = [f"{query}: row {n} of the answer" for n in range(160)]
        for start in range(0, len(rows), PAGE):
            await asyncio.sleep(0)
            yield rows[start : start + PAGE]

    async def first_page(self, query):
        cursor = self.cursors[query] = self.pages(query)
        async for page in cursor:
            return page

    async def next_page(self, query):
        return await anext(self.cursors[query], None)


async def main():
    database = Database()
    length = 0
    for number in range(ITERATIONS):
        page = await database.first_page(f"select {number}")
        length += sum(len(row) for row in page)
        if number % 10 == 0:
            await database.next_page(f"select {number}")
    print(f"truth iterations={ITERATIONS}")
    return length


asyncio.run(main())
