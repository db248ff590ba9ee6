# cause: completed-processes-kept
# class: processes
# report: https://github.com/intel/gprofiler/pull/991
# verdict: leak
# line: 22
# bytes-per-iteration: 66100
# holder: history
# fix: returncode, stdout, bound, maxlen
# note: Each finished command is kept for a report of return codes, together with all that it wrote.

import os
import subprocess

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "600"))


class Shell:
    def __init__(self):
        self.history = []

    def run(self, *command):
        done = subprocess.run(command, capture_output=True)
        self.history.append(done)
        return done

    def failed(self):
        return sum(1 for done in self.history if done.returncode)


def main():
    shell = Shell()
    size = 0
    for number in range(ITERATIONS):
        size += len(shell.run("head", "-c", str(65_000 + number % 1000), "/dev/zero").stdout)
    shell.failed()
    print(f"truth iterations={ITERATIONS}")


main()
