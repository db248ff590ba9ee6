/*
 * Programs without marks that give back what they have when they end, or that write ever more of one buffer. They keep to a time-table of two
 * milliseconds for a step, so that their pace is the same on a busy machine.
 *
 *   ends cleans        keeps a block with each step, and frees all of them at its end
 *   ends cleans-early  the same in the first third only
 *   ends doubles       writes to a buffer that is made twice as large when it is full
 *   ends writes        writes to a buffer that had its size from the beginning
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEPS 1200
#define SIZE 20000

static void *kept[STEPS];
static char *buffer;
static size_t used, capacity;

static void wait_until(double at) {
    struct timespec t = {(time_t)at, (long)((at - (time_t)at) * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void keep(int step) {
    kept[step] = malloc(SIZE); // what is kept
    memset(kept[step], 1, SIZE);
}

static void append(size_t least) {
    if (used + SIZE > capacity) {
        capacity = capacity ? 2 * capacity : least;
        buffer = realloc(buffer, capacity); // what is enlarged
    }
    memset(buffer + used, 1, SIZE);
    used += SIZE;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    int cleans = !strncmp(mode, "cleans", 6), last = strcmp(mode, "cleans-early") ? STEPS : STEPS / 3;
    double start = now();
    for (int step = 0; step < STEPS; step++) {
        if (cleans && step < last)
            keep(step);
        if (!cleans)
            append(strcmp(mode, "writes") ? SIZE : (size_t)STEPS * SIZE);
        wait_until(start + 0.002 * step);
    }
    for (int step = 0; step < STEPS; step++)
        free(kept[step]);
    return 0;
}
