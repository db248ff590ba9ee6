// Allocates one block from each of 100,000 stacks: at each of 17 levels one of two functions is called.
#include <stdlib.h>
#include <string.h>

enum { STACKS = 100000, LEVELS = 17 };

void *volatile kept[STACKS];
static int count;

static void go(int levels, unsigned path);

static void left(int levels, unsigned path) { go(levels, path); }

static void right(int levels, unsigned path) { go(levels, path); }

static void go(int levels, unsigned path) {
    if (levels == 0) {
        kept[count] = malloc(16 + count % 4096);
        memset(kept[count++], 1, 16);
    } else if (path & 1) {
        left(levels - 1, path >> 1);
    } else {
        right(levels - 1, path >> 1);
    }
}

int main(void) {
    for (unsigned path = 0; path < STACKS; path++)
        go(LEVELS, path);
    return 0;
}
