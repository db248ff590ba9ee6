// What a benchmark program says about itself: one line on stdout, read by `cargo xtask bench`.
//
//   measured cpu_ns=… peak_kib=… ended_ns=…
//
// The program reads its own clocks, so that nothing a tool does beside it or after its end is counted as its cost.
#pragma once
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

inline int64_t nanoseconds(clockid_t clock) {
    timespec time;
    if (clock_gettime(clock, &time) != 0) abort();
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

// User and system time of this thread. The machine may be shared: time in which others ran is not ours.
inline int64_t thread_cpu() { return nanoseconds(CLOCK_THREAD_CPUTIME_ID); }

// The same of all threads, from the first instruction of the process.
inline int64_t process_cpu() { return nanoseconds(CLOCK_PROCESS_CPUTIME_ID); }

// The largest resident set of this program. Not getrusage's: that one survives exec, and begins with the launcher's.
inline long peak_kib() {
    FILE *status = fopen("/proc/self/status", "r");
    if (status == nullptr) abort();
    char line[256];
    long peak = 0;
    while (fgets(line, sizeof line, status) != nullptr && sscanf(line, "VmHWM: %ld", &peak) != 1) {
    }
    fclose(status);
    return peak;
}

// Called last. `cpu_ns` is the cost of one unit of work. The peak is read before anything is printed.
inline void tell_measured(double cpu_ns) {
    const long peak = peak_kib();
    printf("measured cpu_ns=%.3f peak_kib=%ld ended_ns=%" PRId64 "\n", cpu_ns, peak, nanoseconds(CLOCK_REALTIME));
    fflush(stdout);
}
