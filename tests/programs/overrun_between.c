// Writes behind a block between two heap snapshots that it asks for itself, so that the write lies between their moments.
// Argument: freed (the block is freed at the end), killed (the program ends by SIGKILL, and nobody looks at the block again),
// or whole (nothing is written).
#include "heaplens/heaplens.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int count, char **words) {
    const char *mode = count > 1 ? words[1] : "freed";
    volatile char *block = malloc(24);
    volatile char *other = malloc(24);
    HEAPLENS_SNAPSHOT();
    const double before = seconds();
    if (strcmp(mode, "whole") != 0) block[24] = 1;
    const double after = seconds();
    HEAPLENS_SNAPSHOT();
    printf("written within %.9f\n", after - before);
    fflush(stdout);
    if (strcmp(mode, "killed") == 0) raise(SIGKILL);
    free((void *)block);
    free((void *)other);
    return 0;
}
