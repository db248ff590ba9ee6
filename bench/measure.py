"""What a Python benchmark program says about itself: the line that measure.h describes."""

import resource
import time


def cpu_ns():
    """User and system time of this process with all its threads, and of the children that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time_ns() + int((children.ru_utime + children.ru_stime) * 1e9)


def peak_kib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def tell_measured(cost_ns):
    """Called last. The cost is that of one unit of work; the peak is read before anything is printed."""
    peak = peak_kib()
    print(f"measured cpu_ns={cost_ns:.3f} peak_kib={peak} ended_ns={time.time_ns()}", flush=True)


def tell_one_of(count, work, warm_up):
    """Does the work so many times, after some that are not counted: the first pass makes what later ones find made."""
    for _ in range(warm_up):
        work()
    start = cpu_ns()
    for _ in range(count):
        work()
    tell_measured((cpu_ns() - start) / count)
