# cause: buffered-log-handler
# class: servers
# report: https://docs.python.org/3/library/logging.handlers.html#logging.handlers.MemoryHandler
# verdict: plateau
# needs: werkzeug
# note: Access lines are buffered, five hundred at a time, and handed to a file handler: the buffer is filled and emptied.

import logging
import logging.handlers
import os
import tempfile

from werkzeug.test import Client
from werkzeug.wrappers import Request, Response

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))


class App:
    def __init__(self, log):
        self.log = log

    def __call__(self, environ, start_response):
        request = Request(environ)
        body = request.path.encode() * 200
        self.log.info("%s %s %d %s", request.method, request.path, len(body), dict(request.headers))
        return Response(body)(environ, start_response)


def access_log(folder):
    target = logging.FileHandler(os.path.join(folder, "access.log"))
    buffered = logging.handlers.MemoryHandler(500, flushLevel=logging.ERROR, target=target)
    log = logging.getLogger("access")
    log.propagate = False
    log.setLevel(logging.INFO)
    log.addHandler(buffered)
    return log, buffered, target


def main():
    with tempfile.TemporaryDirectory() as folder:
        log, *handlers = access_log(folder)
        client = Client(App(log))
        size = 0
        for number in range(ITERATIONS):
            size += len(client.get(f"/page/{number}").data)
        for handler in handlers:
            handler.close()
    print(f"truth iterations={ITERATIONS}")


main()
