"""Keeps the newest step of a chain (chain_of_steps.cpp). A table of another module knows one of the last, which is a short way to most of them: they are
held by the variable all the same.

    chain_of_steps.py LIBRARY
"""
import ctypes
import sys
import types

library = ctypes.CDLL(sys.argv[1])
for function in (library.step_after, library.table_with):
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_void_p]
tables = sys.modules["tables"] = types.ModuleType("tables")

newest = ctypes.c_void_p()
for number in range(400):
    newest = ctypes.c_void_p(library.step_after(newest))  # here
    if number == 370:
        tables.steps = ctypes.c_void_p(library.table_with(newest))
