# cause: callbacks-on-long-lived-future
# class: asyncio
# report: https://github.com/permitio/fastapi_websocket_rpc/issues/15
# verdict: leak
# line: 29
# bytes-per-iteration: 4100
# holder: closed
# fix: remove_done_callback, asyncio.wait, cancel
# note: Each call races its answer against the future that says "closed"; as_completed leaves its callback, with its queue and set, on the future that does not come.

import asyncio
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "16000"))


class Channel:
    def __init__(self):
        self.closed = asyncio.get_running_loop().create_future()
        self.calls = 0

    async def respond(self, number):
        await asyncio.sleep(0)
        return number * number

    async def call(self, number):
        self.calls += 1
        answer = asyncio.ensure_future(self.respond(number))
        for first in asyncio.as_completed([answer, self.closed]):
            return await first


async def main():
    channel = Channel()
    total = 0
    for number in range(ITERATIONS):
        total += await channel.call(number)
    print(f"truth iterations={ITERATIONS}")
    channel.closed.set_result(None)
    return total


asyncio.run(main())
