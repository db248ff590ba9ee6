# cause: request-context-freed
# class: servers
# report: https://flask.palletsprojects.com/en/stable/appcontext/
# verdict: clean
# needs: flask
# note: Each request puts a table into g; the application context goes with the request, and the table with it.

import os
import statistics

from flask import Flask, g, jsonify, request

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "2500"))
app = Flask(__name__)


@app.before_request
def load():
    seed = request.args.get("seed", 1, int)
    g.table = [(seed * n * 7919) % 10_007 for n in range(2000)]


@app.teardown_request
def forget(error):
    g.pop("loaded", None)


@app.get("/mean")
def mean():
    return jsonify(mean=statistics.fmean(g.table), median=statistics.median_low(g.table[:200]))


def main():
    client = app.test_client()
    total = 0.0
    number = 0
    while number < ITERATIONS:
        total += client.get("/mean", query_string={"seed": number}).get_json()["mean"]
        number += 1
    print(f"truth iterations={ITERATIONS}")


main()
