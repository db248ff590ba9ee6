# cause: connection-pool
# class: asyncio
# report: https://docs.python.org/3/library/asyncio-stream.html
# verdict: plateau
# note: Connections to the loopback server are opened until the pool has eight; then they are reused for every request.

import asyncio
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))


async def serve(reader, writer):
    while line := await reader.readline():
        number = int(line)
        writer.write(f"{' '.join(str(number * n % 997) for n in range(200))}\n".encode())
        await writer.drain()
    writer.close()


class Pool:
    def __init__(self, port, size):
        self.port = port
        self.slots = asyncio.Semaphore(size)
        self.idle = []
        self.opened = 0

    async def ask(self, number):
        async with self.slots:
            if not self.idle:
                self.opened += 1
                self.idle.append(await asyncio.open_connection("127.0.0.1", self.port))
            reader, writer = self.idle.pop()
            writer.write(f"{number}\n".encode())
            answer = await reader.readline()
            self.idle.append((reader, writer))
            return sum(map(int, answer.split()))

    async def close(self):
        for _, writer in self.idle:
            writer.close()
            await writer.wait_closed()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    pool = Pool(server.sockets[0].getsockname()[1], 8)
    total = 0
    for start in range(0, ITERATIONS, 20):
        numbers = range(start, min(start + 20, ITERATIONS))
        total += sum(await asyncio.gather(*(pool.ask(number) for number in numbers)))
    print(f"truth iterations={ITERATIONS}")
    await pool.close()
    server.close()
    await server.wait_closed()


asyncio.run(main())
