# cause: subprocess-output-read
# class: processes
# report: https://docs.python.org/3/library/subprocess.html#subprocess.run
# verdict: clean
# note: The output of each command is read, counted and forgotten; pipes and process are closed by run.

import os
import subprocess

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "500"))


def sort_lines(lines):
    done = subprocess.run(["sort", "-n"], input="\n".join(lines).encode(), stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().split("\n")


def lines(number):
    return [str((number * 7919 + n * 104_729) % 100_003) for n in range(3000)]


checks = 0
for number in range(ITERATIONS):
    ordered = sort_lines(lines(number))
    checks += int(ordered[len(ordered) // 2] or 0)

print(f"truth iterations={ITERATIONS}")
