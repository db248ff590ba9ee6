# cause: metric-labels-unbounded
# class: servers
# report: https://github.com/BerriAI/litellm/issues/12159
# verdict: leak
# line: 29
# bytes-per-iteration: 4000
# holder: _metrics
# fix: label, route, cardinality
# needs: prometheus_client, werkzeug
# note: The histogram has the full path as its label: each document makes a new time series that the registry never drops.

import os

from prometheus_client import CollectorRegistry, Histogram
from werkzeug.test import Client
from werkzeug.wrappers import Request, Response

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "7000"))
registry = CollectorRegistry()
LATENCY = Histogram("latency_seconds", "time per request", ["method", "path"], registry=registry)


class Documents:
    def __init__(self):
        self.words = ["alpha", "beta", "gamma", "delta"] * 50

    def __call__(self, environ, start_response):
        request = Request(environ)
        with LATENCY.labels(request.method, request.path).time():
            response = self.find(request)
        return response(environ, start_response)

    def find(self, request):
        number = int(request.path.rsplit("/", 1)[1])
        return Response(" ".join(self.words[number % 100 :]), mimetype="text/plain")


def main():
    client = Client(Documents())
    size = 0
    for number in range(ITERATIONS):
        size += len(client.get(f"/document/{number}").data)
    print(f"truth iterations={ITERATIONS}")


main()
