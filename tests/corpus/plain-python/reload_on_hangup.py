# cause: signal-handler-chain
# class: plain-python
# report: https://docs.python.org/3/library/signal.html#signal.signal
# verdict: leak
# line: 37
# bytes-per-iteration: 10600
# holder: previous
# fix: once, restore, previous, one handler
# note: Each reload installs a handler that calls the one before it; the chain of closures keeps the configuration of every reload.

import os
import signal

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "4000"))


def parse(lines):
    table = {}
    for line in lines:
        key, value = line.split(" = ")
        table[key] = value
    return table


class Service:
    def __init__(self):
        self.generation = 0
        self.options = {}

    def lines(self):
        return [f"option_{n} = {self.generation * n % 977}" for n in range(300)]

    def reload(self):
        self.generation += 1
        lines = self.lines()
        self.options = parse(lines)
        text = "\n".join(lines) * 2
        previous = signal.getsignal(signal.SIGHUP)

        def dump(number, frame):
            os.write(2, text[:40].encode())
            if callable(previous):
                previous(number, frame)

        signal.signal(signal.SIGHUP, dump)


def main():
    service = Service()
    while service.generation < ITERATIONS:
        service.reload()
    print(f"truth iterations={ITERATIONS}")
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


main()
