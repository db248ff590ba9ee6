// Has free memory between blocks that stay. For each line of its input it allocates a little, and says so.
//
//   requests main       in main itself
//   requests handler    in a signal handler and nowhere else
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 2000, LARGE = 4000, SMALL = 24 };

static void allocate(int signal) {
    (void)signal;
    static void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(SMALL);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static void make_holes(void) {
    static void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(LARGE);
        memset(blocks[i], 1, LARGE);
    }
    for (int i = 0; i + 1 < BLOCKS; i++) // the last one stays, so that the heap does not shrink by itself
        free(blocks[i]);
}

int main(int argc, char **argv) {
    int in_handler = argc > 1 && strcmp(argv[1], "handler") == 0;
    static char line[64], output[4096];
    setvbuf(stdout, output, _IOLBF, sizeof output);
    struct sigaction action = {.sa_handler = allocate};
    sigaction(SIGUSR1, &action, NULL);
    make_holes();
    puts("ready");
    while (fgets(line, sizeof line, stdin)) {
        if (in_handler)
            raise(SIGUSR1);
        else
            allocate(0);
        puts("done");
    }
    return 0;
}
