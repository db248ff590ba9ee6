"""Names a moment every 10 ms and keeps some memory with each: `readings.py small|tensorflow KIB SECONDS`.
Says what came of it in one line, read by `cargo xtask bench`:

    readings marks=… wall_ns=… recorder_ns=… marks_ns=… rss_bytes=…

The recorder is the parent of this process. Its CPU time is read from the kernel's schedule statistics, after a second of
marks and at the last one, so that neither its start nor the sealing of the recording is in it.
"""

import glob
import os
import sys
import time

import _heaplens  # built in under Heaplens

DISTANCE_NS = 10_000_000
FIRST = 100  # moments that are not counted: a loop that begins is looked at closer


def recorder_ns():
    """CPU time of all threads of the parent."""
    total = 0
    for path in glob.glob(f"/proc/{os.getppid()}/task/*/schedstat"):
        with open(path) as statistics:
            total += int(statistics.read().split()[0])
    return total


def rss_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if sys.argv[1] == "tensorflow":
    import tensorflow  # noqa: F401
size = int(sys.argv[2]) << 10
marks = int(sys.argv[3]) * 1_000_000_000 // DISTANCE_NS
kept, start = [], time.monotonic_ns()
for number in range(FIRST + marks):
    if number == FIRST:
        in_marks, begin, recorder = 0, time.monotonic_ns(), recorder_ns()
    kept.append(bytearray(size))
    before = time.thread_time_ns()
    _heaplens.mark(b"moment")
    if number >= FIRST:
        in_marks += time.thread_time_ns() - before
    time.sleep(max(0, start + (number + 1) * DISTANCE_NS - time.monotonic_ns()) / 1e9)
recorder, wall = recorder_ns() - recorder, time.monotonic_ns() - begin
print(f"readings marks={marks} wall_ns={wall} recorder_ns={recorder} marks_ns={in_marks} rss_bytes={rss_bytes()}", flush=True)
