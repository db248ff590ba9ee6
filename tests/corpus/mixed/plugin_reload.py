# cause: dlopen-without-dlclose
# class: mixed
# report: https://github.com/hidet-org/hidet/pull/63
# verdict: leak
# line: 43
# bytes-per-iteration: 215000
# holder: library
# fix: dlclose, reload, once
# needs: apt:gcc
# note: Every version of the plugin is a new file for the loader and ctypes never calls dlclose; its initialised table of 192 KiB is written, so it becomes private memory of each copy, with a few pages of the loader's own.

import ctypes
import os
import shutil
import subprocess
import tempfile

SOURCE = r"""
static unsigned table[48 * 1024] = {1, 2, 3};

unsigned prepare(unsigned seed) {
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++) {
        seed = seed * 1664525u + 1013904223u;
        table[i] ^= seed;
    }
    return table[seed % 1024];
}
"""


class Plugins:
    def __init__(self, folder):
        self.folder = folder
        source = os.path.join(folder, "plugin.c")
        self.built = os.path.join(folder, "plugin.so")
        with open(source, "w") as out:
            out.write(SOURCE)
        subprocess.run(["cc", "-g", "-O1", "-shared", "-fPIC", "-o", self.built, source], check=True)

    def load(self, version):
        path = os.path.join(self.folder, f"plugin-{version}.so")
        shutil.copyfile(self.built, path)
        plugin = ctypes.CDLL(path)
        plugin.prepare.restype = ctypes.c_uint
        os.remove(path)
        return plugin


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "500"))
    total = 0
    folder = tempfile.mkdtemp()
    plugins = Plugins(folder)
    for version in range(iterations):
        plugin = plugins.load(version)
        for seed in range(20):
            total ^= plugin.prepare(version + seed)
    print(total)
    print(f"truth iterations={iterations}")


main()
