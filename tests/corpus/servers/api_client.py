# cause: http-connection-pool
# class: servers
# report: https://requests.readthedocs.io/en/latest/user/advanced/#session-objects
# verdict: clean
# needs: requests
# note: One Session reuses its connection; a response is read and dropped before the next request.

import http.server
import os
import threading

import requests

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "1500"))


class Items(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        start = int(self.path.rsplit("/", 1)[1])
        body = ",".join(f'{{"id": {start + n}, "stock": {n * start % 17}}}' for n in range(200))
        data = f"[{body}]".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


def stock(session, url, number):
    answer = session.get(f"{url}/items/{number}", timeout=10)
    answer.raise_for_status()
    return sum(item["stock"] for item in answer.json())


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Items)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    with requests.Session() as session:
        total = sum(stock(session, url, number) for number in range(ITERATIONS))
    server.shutdown()
    thread.join()
    server.server_close()
    print(f"truth iterations={ITERATIONS}")
    return total


if __name__ == "__main__":
    main()
