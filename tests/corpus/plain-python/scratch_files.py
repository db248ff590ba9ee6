# cause: finalizer-without-object
# class: plain-python
# report: https://github.com/bluesky/ophyd/pull/865
# verdict: clean
# note: The finalizer gets a static function and a path, not the object: the object dies with its last reference and the file is removed.

import os
import tempfile
import weakref

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "4000"))


class Scratch:
    def __init__(self, folder, number):
        self.path = os.path.join(folder, f"scratch-{number}")
        self.index = list(range(3000))
        with open(self.path, "w") as out:
            out.write("\n".join(map(str, self.index[:500])))
        self.finalizer = weakref.finalize(self, os.unlink, self.path)

    def total(self):
        with open(self.path) as lines:
            return sum(map(int, lines))


def main():
    with tempfile.TemporaryDirectory() as folder:
        total = 0
        for number in range(ITERATIONS):
            total += Scratch(folder, number).total()
        assert not os.listdir(folder)
    print(f"truth iterations={ITERATIONS}")


if __name__ == "__main__":
    main()
