// A heap of so many blocks (its first word) of 32 to 256 bytes, each with three pointers to others, for a leak check: a tree, so
// that all can be reached, and one pointer across. Built with -fsanitize=leak it checks itself and says
//     leaks blocks=N check_ns=N cpu_ns=N
// else it says when it ended, and whoever watches it checks:
//     leaks blocks=N ended_ns=N

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>

#include <sys/resource.h>

extern "C" int __lsan_do_recoverable_leak_check() __attribute__((weak));

struct Block {
    Block *children[2];
    Block *across;
};

static Block *volatile root;

static unsigned long now_ns(clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000ul + time.tv_nsec;
}

// Of this process and of the helper that the check starts.
static unsigned long cpu_ns() {
    unsigned long sum = 0;
    for (__rusage_who who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage usage;
        getrusage(who, &usage);
        sum += (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000ul;
        sum += (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ul;
    }
    return sum;
}

static unsigned chance() {
    static unsigned state = 12345;
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

static Block *made() {
    size_t size = 32 + chance() % 225;
    return (Block *)memset(malloc(size), 0, size);
}

// Blocks hang in a tree in the order in which they are made; what they point to across is drawn.
static void grow(size_t count) {
    Block **all = (Block **)malloc(count * sizeof *all);
    for (size_t number = 0; number < count; number++) {
        all[number] = made();
        all[number]->across = all[chance() % (number + 1)];
        if (number > 0) {
            all[(number - 1) / 2]->children[(number - 1) % 2] = all[number];
        }
    }
    root = all[0];
    memset(all, 0, count * sizeof *all);
    free(all);
}

int main(int count, char **words) {
    size_t blocks = count > 1 ? strtoul(words[1], nullptr, 10) : 1000000;
    grow(blocks);
    if (__lsan_do_recoverable_leak_check) {
        unsigned long start = now_ns(CLOCK_MONOTONIC), cpu = cpu_ns();
        if (__lsan_do_recoverable_leak_check() != 0) {
            abort(); // all can be reached
        }
        printf("leaks blocks=%zu check_ns=%lu cpu_ns=%lu\n", blocks, now_ns(CLOCK_MONOTONIC) - start, cpu_ns() - cpu);
    } else {
        printf("leaks blocks=%zu ended_ns=%lu\n", blocks, now_ns(CLOCK_REALTIME));
    }
    fflush(stdout);
    return 0;
}
