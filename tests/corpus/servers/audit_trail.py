# cause: app-state-list
# class: servers
# report: https://github.com/Kludex/starlette/issues/1749
# verdict: leak
# line: 25
# bytes-per-iteration: 12100
# holder: audit
# fix: maxlen, bound, write, request.state
# needs: starlette
# note: The endpoint appends each body to a list in the state of the application, which lives as long as the application.

import asyncio
import json
import os

from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "3000"))


async def update(request):
    change = await request.json()
    text = "\n".join(f"{field} := {value}" for field, value in change.items())
    request.app.state.audit.append(text)
    return JSONResponse({"fields": len(change)})


app = Starlette(routes=[Route("/update", update, methods=["POST"])])
app.state.audit = []


async def post(body):
    sent = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/update",
        "raw_path": b"/update",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }
    await app(scope, receive, send)
    return sent[0]["status"]


async def main():
    good = 0
    for number in range(ITERATIONS):
        body = json.dumps({f"customer.{number}.field{n}": f"value number {n * number % 811}" for n in range(280)})
        good += await post(body.encode()) == 200
    print(f"truth iterations={ITERATIONS}")


asyncio.run(main())
