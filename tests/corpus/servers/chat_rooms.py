# cause: clients-never-removed
# class: servers
# report: https://github.com/crossbario/autobahn-python/issues/277
# verdict: leak
# line: 29
# bytes-per-iteration: 17500
# holder: members
# fix: finally, discard, remove, close
# note: A client joins the room on connection; when it is gone nobody takes it out, so its unread backlog stays.

import asyncio
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "2000"))


class Client:
    def __init__(self, name, backlog):
        self.name = name
        self.backlog = backlog


class Room:
    def __init__(self):
        self.members = set()
        self.lines = 0

    def history(self, name):
        return "\n".join(f"{name} missed line {self.lines - n} of this room, said by someone" for n in range(300))

    async def serve(self, reader, writer):
        name = (await reader.readline()).decode().strip()
        client = Client(name, self.history(name))
        self.members.add(client)
        while line := await reader.readline():
            self.lines += 1
            writer.write(f"{client.name}: {line.decode()}".encode())
            await writer.drain()
        writer.close()


async def visit(port, number):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"guest{number}\nhello\n".encode())
    answer = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return len(answer)


async def main():
    room = Room()
    server = await asyncio.start_server(room.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    heard = 0
    for number in range(ITERATIONS):
        heard += await visit(port, number)
    print(f"truth iterations={ITERATIONS}")
    server.close()
    await server.wait_closed()


asyncio.run(main())
