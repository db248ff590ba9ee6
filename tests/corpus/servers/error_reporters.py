# cause: signal-receivers-connected
# class: servers
# report: https://github.com/e-valuation/EvaP/issues/1361
# verdict: leak
# line: 24
# bytes-per-iteration: 12300
# holder: receivers
# fix: weak, disconnect, once
# needs: flask
# note: The view connects a closure to a signal for each request, with weak=False; the signal keeps all of them and their form data.

import os

from flask import Flask, got_request_exception, jsonify, request

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "2000"))
app = Flask(__name__)
reported = []


@app.post("/order/<int:number>")
def order(number):
    lines = request.get_data(as_text=True).split("\n")
    summary = "\n".join(f"order {number}: {line.upper()}" for line in lines)

    def report(sender, exception, **extra):
        reported.append((number, repr(exception), summary[:80]))

    got_request_exception.connect(report, app, weak=False)
    return jsonify(number=number, lines=len(lines), size=len(summary))


def form(number):
    return "\n".join(f"item {n}, {number * n % 97} pieces, packed" for n in range(300))


def main():
    client = app.test_client()
    size = 0
    for number in range(ITERATIONS):
        size += client.post(f"/order/{number}", data=form(number)).get_json()["size"]
    print(f"truth iterations={ITERATIONS}")


if __name__ == "__main__":
    main()
