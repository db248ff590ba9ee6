// Runs for a second and a half without a mark (three where it leaks), and says what it leaks.
//
//   without_marks leaks    a large table is built once, and a far smaller leak grows beside it, a block every four milliseconds
//   without_marks built    the table alone
//   without_marks moves    blocks of one line take the place of blocks of another: nothing grows
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PASSES = 750, TABLE = 12000, ENTRY = 4000, LEAK = 3000 };

static void *table[TABLE], *kept[PASSES];

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

// By the clock, so that the pace is the same on a busy machine.
static void rest(long milliseconds) {
    static struct timespec next;
    if (next.tv_sec == 0)
        clock_gettime(CLOCK_MONOTONIC, &next);
    next.tv_nsec += milliseconds * 1000000;
    if (next.tv_nsec >= 1000000000)
        next.tv_nsec -= 1000000000, next.tv_sec++;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
}

static void *touched(void *block, size_t size) { return memset(block, 1, size); }

static void build(void) {
    for (int i = 0; i < TABLE; i++)
        table[i] = touched(malloc(ENTRY), ENTRY);
}

static void leak(void) {
    double start = now();
    for (int pass = 0; pass < PASSES; pass++, rest(4))
        kept[pass] = touched(malloc(LEAK), LEAK); // the leak
    printf("truth %f\n", (double)PASSES * LEAK / (now() - start));
}

static void move(void) {
    for (int pass = 0; pass < PASSES; pass++, rest(2))
        for (int i = pass * TABLE / PASSES; i < (pass + 1) * TABLE / PASSES; i++) {
            free(table[i]);
            table[i] = touched(malloc(ENTRY), ENTRY);
        }
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    build();
    if (strcmp(mode, "leaks") == 0)
        leak();
    else if (strcmp(mode, "moves") == 0)
        move();
    else
        for (int pass = 0; pass < PASSES; pass++)
            rest(2);
    return 0;
}
