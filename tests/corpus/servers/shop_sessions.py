# cause: sessions-never-expire
# class: servers
# report: https://github.com/nesquena/hermes-webui/issues/192
# verdict: leak
# line: 37
# bytes-per-iteration: 11900
# holder: sessions
# fix: expire, prune, max_age, remove
# note: A visitor without a cookie gets a session; robots send none, so each request leaves one, and only the session that is asked for is ever looked at.

import http.client
import http.server
import os
import secrets
import threading
import time

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "2500"))
CATALOG = [f"article {n} in a colour of your choice" for n in range(500)]


class Shop(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    sessions = {}

    def session(self):
        token = self.headers.get("Cookie")
        found = self.sessions.get(token)
        if found is None or found["until"] < time.monotonic():
            token = secrets.token_hex(16)
            found = self.sessions[token] = {"until": time.monotonic() + 600, "seen": self.suggest(token)}
        return token, found

    def suggest(self, token):
        start = int(token[:6], 16)
        return "\n".join(f"{n}: {CATALOG[(start + n) % 500]}" for n in range(260))

    def do_GET(self):
        token, session = self.session()
        body = session["seen"][:200].encode()
        self.send_response(200)
        self.send_header("Set-Cookie", token)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    robot = http.client.HTTPConnection("127.0.0.1", server.server_port)
    for number in range(ITERATIONS):
        robot.request("GET", f"/article/{number % 500}")
        robot.getresponse().read()
    print(f"truth iterations={ITERATIONS}")
    robot.close()
    server.shutdown()
    thread.join()
    server.server_close()


main()
