/* Writes heap profiles when it is told to by the variables of gperftools, and says when one is due by their rules, which it follows
 * beside its allocations:
 *
 *     due PID LIVE_BLOCKS LIVE_BYTES ALLOCATED_BLOCKS ALLOCATED_BYTES
 *
 * Arguments: `steps`, `signals`, `clock`, `threads`, `fork`, `spawn`, `leaf`, `confined`, `many`. */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <linux/seccomp.h>
#include <sys/syscall.h>

enum { STEPS = 300, KEPT = 100000, PASSING = 40000, THREADS = 4, TURNS = 20000, DEPTH = 15, LARGE = 1000000 };

static int own_pid; /* asked for once: a confined program may not */
static struct truth_amount live, allocated;
static long allocated_next, in_use_next, interval, growth;

static void say_due(void) {
    char text[160];
    truth_say(text, snprintf(text, sizeof text, "due %d %ld %ld %ld %ld\n", own_pid, live.blocks, live.bytes,
                             allocated.blocks, allocated.bytes));
}

static long variable(const char *name, long otherwise) {
    const char *value = getenv(name);
    return value ? atol(value) : otherwise;
}

static void follow_rules(void) {
    interval = variable("HEAP_PROFILE_ALLOCATION_INTERVAL", 1L << 30);
    growth = variable("HEAP_PROFILE_INUSE_INTERVAL", 100L << 20);
    allocated_next = interval;
    in_use_next = growth;
}

static struct block gained(struct block block) {
    live.bytes += block.bytes, live.blocks++;
    allocated.bytes += block.bytes, allocated.blocks++;
    int by_allocation = interval && allocated.bytes >= allocated_next;
    int by_use = growth && live.bytes > in_use_next;
    if (by_allocation || by_use) {
        say_due();
        allocated_next = allocated.bytes + interval;
        if (live.bytes + growth > in_use_next) in_use_next = live.bytes + growth;
    }
    return block;
}

static void lose(struct block block) {
    live.bytes -= block.bytes, live.blocks--;
    give(block);
}

FRAME static struct block keep(long bytes) {
    return gained(TAKE(malloc((size_t)bytes), bytes));
}

FRAME static void pass(long bytes) {
    lose(gained(TAKE(calloc(1, (size_t)bytes), bytes)));
}

/* Grows, shrinks and grows again: what is in use rises above its highest late. */
FRAME static void steps(void) {
    static struct block kept[STEPS];
    for (int i = 0; i < STEPS; i++) {
        kept[i] = keep(KEPT + i);
        pass(PASSING + i);
        if (i == STEPS / 2)
            for (int j = 0; j < i; j++) lose(kept[j]);
    }
}

FRAME static void signals(void) {
    for (int i = 0; i < 3; i++) {
        keep(1000 + i);
        NEED(raise(SIGUSR1) == 0);
        say_due();
    }
}

static int exists(int number) {
    char path[1024];
    struct stat about;
    snprintf(path, sizeof path, "%s.%04d.heap", getenv("TRUTH_PREFIX"), number);
    return stat(path, &about) == 0;
}

/* Allocates until two files are there, and says how many milliseconds that took. */
FRAME static void clock_ticks(void) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int number = 1; number <= 2; number++) {
        while (!exists(number)) pass(PASSING);
        clock_gettime(CLOCK_MONOTONIC, &now);
        char text[64];
        long elapsed = (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000;
        truth_say(text, snprintf(text, sizeof text, "elapsed %ld\n", elapsed));
    }
}

FRAME static void *turns(void *unused) {
    for (int i = 0; i < TURNS; i++) {
        struct block block = TAKE(malloc((size_t)(100 + i % 7)), 100 + i % 7);
        if (i % 10) give(block);
    }
    return unused;
}

FRAME static void threads(void) {
    pthread_t all[THREADS];
    for (int i = 0; i < THREADS; i++) NEED(pthread_create(&all[i], NULL, turns, NULL) == 0);
    for (int i = 0; i < THREADS; i++) NEED(pthread_join(all[i], NULL) == 0);
}

/* As many stacks as there are combinations of two calls at a time, each of which holds a block. */
FRAME static void split(unsigned way, int depth) {
    if (depth == 0) {
        keep(16 + way % 64);
        return;
    }
    if (way >> depth & 1) {
        split(way, depth - 1);
        ESCAPE(way);
    } else {
        split(way, depth - 1);
        ESCAPE(depth);
    }
}

FRAME static void many(void) {
    for (unsigned way = 0; way < 1u << DEPTH; way++) split(way << 1, DEPTH);
    keep(LARGE);
}

static void await(pid_t child) {
    int status;
    NEED(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The child leaves by `_exit`, as those of Python do. */
FRAME static void fork_one(void) {
    keep(5000);
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        truth_begin_child();
        keep(700);
        truth_print();
        _exit(0);
    }
    await(child);
}

/* By `exec`, and by `system`, inside of which no function is called that could be hooked. */
FRAME static void spawn(const char *own) {
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        execl(own, own, "leaf", NULL);
        _exit(98);
    }
    await(child);
    char command[1024];
    snprintf(command, sizeof command, "exec %s leaf", own);
    NEED(system(command) == 0);
    keep(5000);
}

/* From its middle on only read, write, _exit and sigreturn are allowed: anything else ends the program. What it then allocates was free
 * before, so that malloc needs nothing from the system. */
FRAME static void confined(void) {
    struct block spare = keep(PASSING), next = keep(PASSING);
    lose(spare);
    NEED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    for (int i = 0; i < STEPS; i++) pass(PASSING);
    lose(next);
    truth_say("confined\n", 9);
    syscall(SYS_exit, 0);
}

int main(int argc, char **argv) {
    NEED(argc == 2);
    const char *what = argv[1];
    own_pid = (int)getpid();
    follow_rules();
    if (!strcmp(what, "steps")) steps();
    if (!strcmp(what, "signals")) signals();
    if (!strcmp(what, "clock")) clock_ticks();
    if (!strcmp(what, "threads")) threads();
    if (!strcmp(what, "fork")) fork_one();
    if (!strcmp(what, "spawn")) spawn(argv[0]);
    if (!strcmp(what, "leaf")) keep(300);
    if (!strcmp(what, "many")) many();
    if (!strcmp(what, "confined")) confined();
    truth_print();
    return 0;
}
