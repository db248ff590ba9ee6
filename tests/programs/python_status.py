"""Prints lines and half a line, grows by a block with each iteration, and waits in between until the file that it is given is
written to."""
import ctypes
import sys

malloc = ctypes.CDLL(None).malloc
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]

# No loop of Python's: the status line shows the loop that has run longest, and a terminal may be slow.
sys.stdout.writelines(map("line {}\n".format, range(30)))
for _ in range(200):
    malloc(100_000)
print("half a ", end="", flush=True)
open(sys.argv[1]).read()
print("line")
for number in range(30, 60):
    print("line", number)
sys.stdout.flush()
