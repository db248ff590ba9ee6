"""Keeps a block more with each iteration in functions whose names and files would be markup, if a page took them as such.

Says `keeps SIZE` for what each function keeps in an iteration, and how many there are.
"""
import os
import sys
import types

PASSES = 40
SIZE = 30_000
NAMES = [
    "<script>window.ran=1;alert(1)</script>",
    "\"'><img src=x onerror=window.ran=2>",
    "</script><script>window.ran=3</script>",
    "<!--<svg/onload=window.ran=4>",
    "outer<" + "std::pair<int,std::vector<char>>," * 330 + "end>",
    "\u202e\u05e9\u05dc\u05d5\u05dd left to right again",
    "not\udcffutf8\udc80",
    "line\u2028and\u2029paragraph\nand\x00end",
    "&lt;b&gt;&amp;&#39; {{7*7}} ${7*7} javascript:alert(1)",
]


kept = []


def keep():
    kept.append(bytearray(SIZE))


def renamed(name):
    code = keep.__code__.replace(co_name=name, co_filename=f"/tmp/{name[:60]}.py")
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=name)
    return types.FunctionType(code, globals(), name)


def main():
    functions = [renamed(name) for name in NAMES]
    for _ in range(PASSES):
        for function in functions:
            function()
        own = bytearray(SIZE)  # </script><script>window.ran=5</script> is what this line says
        kept.append(own)
    print("keeps", SIZE, len(NAMES), flush=True)


main()
os._exit(0)
