/* Blocks that nothing points to and that are kept on purpose, and others that are lost: LEAKS in the middle, and all lines at the end.
 *
 *     leak KIND BYTES BLOCKS LINE
 *     lost-now 0|1            what a leak check says while the program runs
 */
#include <heaplens/heaplens.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void tell(const char *kind, int bytes, int line) { printf("leak %s %d 1 %d\n", kind, bytes, line); }

static __attribute__((noinline)) void keep(void) {
    void **block = calloc(1, 112);
    tell("still_reachable", 112, __LINE__ - 1);
    *block = calloc(1, 128);
    tell("still_reachable", 128, __LINE__ - 1);
    HEAPLENS_IGNORE(block);
    HEAPLENS_IGNORE_BEGIN();
    HEAPLENS_IGNORE_BEGIN();
    memset(malloc(144), 1, 144);
    tell("still_reachable", 144, __LINE__ - 1);
    HEAPLENS_IGNORE_END();
    memset(malloc(160), 1, 160);
    tell("still_reachable", 160, __LINE__ - 1);
    HEAPLENS_IGNORE_END();
}

static __attribute__((noinline)) void lose(void) {
    memset(malloc(176), 1, 176);
    tell("definitely", 176, __LINE__ - 1);
}

static __attribute__((noinline)) void wipe_stack(void) {
    volatile char old[8 << 10];
    for (size_t i = 0; i < sizeof old; i++) old[i] = 0;
}

static char text[32];

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    keep();
    wipe_stack();
    printf("lost-now %d\n", HEAPLENS_LEAK_CHECK());
    /* Where it is was told to functions that have returned, and left below the stack by them. */
    snprintf(text, sizeof text, "%p", memset(malloc(208), 1, 208));
    int lost = HEAPLENS_LEAK_CHECK();
    printf("lost-now %d\n", lost);
    tell("definitely", 208, __LINE__ - 3);
    lose();
    wipe_stack();
    printf("lost-now %d\n", HEAPLENS_LEAK_CHECK());
    return 0;
}
