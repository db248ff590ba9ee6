# cause: server-threads-reaped
# class: servers
# report: https://github.com/python/cpython/issues/81374
# verdict: clean
# note: ThreadingTCPServer keeps its threads in a list to join them at the end; since Python 3.9 it takes finished ones out, so this old leak is gone.

import os
import socket
import socketserver
import threading

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "2500"))


class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            words = sorted(line.split())
            self.wfile.write(b" ".join(words) + b"\n")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = False


def ask(address, number):
    with socket.create_connection(address) as connection:
        connection.sendall(" ".join(f"w{number * n % 1000}" for n in range(600)).encode() + b"\n")
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
    return len(answer)


def main():
    size = 0
    with Server(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        for number in range(ITERATIONS):
            size += ask(server.server_address, number)
        server.shutdown()
        thread.join()
    print(f"truth iterations={ITERATIONS}")


main()
