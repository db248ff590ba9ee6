# cause: threads-come-and-go
# class: threads
# report: https://github.com/python/cpython/pull/26103
# verdict: clean
# note: A thread per request, joined at once; its locals, stack and thread-local data go with it.

import os
import threading

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "5000"))
local = threading.local()


def handle(number, answers):
    local.buffer = bytearray(50_000)
    for offset in range(0, 3000, 3):
        local.buffer[offset] = (number + offset) % 256
    answers[number % 8] = sum(local.buffer[:3000])


def main():
    answers = [0] * 8
    number = 0
    while number < ITERATIONS:
        threads = [threading.Thread(target=handle, args=(number + n, answers)) for n in range(min(4, ITERATIONS - number))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        number += len(threads)
    print(f"truth iterations={ITERATIONS}")


main()
