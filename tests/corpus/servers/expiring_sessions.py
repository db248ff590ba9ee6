# cause: sessions-with-expiry
# class: servers
# report: https://github.com/nengo/nengo-gui/issues/914
# verdict: plateau
# note: Sessions are looked through every hundred requests and those without a visit for four hundred requests are dropped.

import os
import secrets
from wsgiref.util import setup_testing_defaults

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "15000"))


class Sessions:
    def __init__(self, age):
        self.age = age
        self.clock = 0
        self.items = {}

    def open(self):
        self.clock += 1
        if self.clock % 100 == 0:
            self.prune()
        token = secrets.token_hex(8)
        self.items[token] = {"opened": self.clock, "basket": [f"{token}-{n}" for n in range(150)]}
        return token

    def prune(self):
        old = [token for token, item in self.items.items() if item["opened"] < self.clock - self.age]
        for token in old:
            del self.items[token]


class Shop:
    def __init__(self):
        self.sessions = Sessions(400)

    def __call__(self, environ, start_response):
        token = self.sessions.open()
        start_response("200 OK", [("Set-Cookie", token)])
        yield ", ".join(self.sessions.items[token]["basket"]).encode()


def request(shop, path):
    environ = {"PATH_INFO": path}
    setup_testing_defaults(environ)
    return b"".join(shop(environ, lambda status, headers: None))


shop = Shop()
size = 0
for number in range(ITERATIONS):
    size += len(request(shop, f"/{number}"))

print(f"truth iterations={ITERATIONS}")
