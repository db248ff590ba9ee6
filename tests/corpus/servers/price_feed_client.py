# cause: responses-kept
# class: servers
# report: https://github.com/GoogleCloudPlatform/python-compat-runtime/issues/95
# verdict: leak
# line: 44
# bytes-per-iteration: 23500
# holder: responses
# fix: status_code, bound, maxlen, close
# needs: requests
# note: The client keeps each Response to compute the share of errors; a Response keeps its body, headers and request.

import http.server
import os
import threading

import requests

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "1500"))


class Prices(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    body = ("{" + ", ".join(f'"article{n}": {n * 1.25}' for n in range(700)) + "}").encode()

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *arguments):
        pass


class Feed:
    def __init__(self, url):
        self.url = url
        self.session = requests.Session()
        self.responses = []

    def poll(self, number):
        response = self.session.get(f"{self.url}/prices/{number}")
        self.responses.append(response)
        return response.json()["article7"]

    def errors(self):
        return sum(1 for response in self.responses if response.status_code >= 400)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Prices)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    feed = Feed(f"http://127.0.0.1:{server.server_port}")
    total = sum(feed.poll(number) for number in range(ITERATIONS))
    feed.errors()
    print(f"truth iterations={ITERATIONS}")
    feed.session.close()
    server.shutdown()
    thread.join()
    server.server_close()
    return total


main()
