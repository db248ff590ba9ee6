# cause: sys-modules-dynamic
# class: plain-python
# report: https://github.com/PrefectHQ/prefect/pull/21692
# verdict: leak
# line: 30
# bytes-per-iteration: 11700
# holder: sys.modules
# fix: sys.modules, pop
# note: Each version of the script is loaded as a module of its own name and stays in sys.modules with its globals.

import importlib.util
import os
import sys
import tempfile

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "3000"))

SOURCE = '''
FACTORS = [(n * {seed}) / 1000 for n in range(300)]
def decide(price):
    return sum(1 for factor in FACTORS if price > factor)
'''


def load(path, version):
    name = f"strategy_{version}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(open(path).read(), path, "exec"), module.__dict__)
    return module


def main():
    decisions = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "strategy.py")
        for version in range(1, ITERATIONS + 1):
            with open(path, "w") as out:
                out.write(SOURCE.format(seed=version))
            decisions += load(path, version).decide(0.5)
    print(f"truth iterations={ITERATIONS}")


if __name__ == "__main__":
    main()
