/* A million blocks of 1 to 24 bytes, half of them freed again: where an allocator packs blocks 8 bytes apart, two of them
 * share a granule of the block table. Three rows, so that neighbours belong to different lines. */
#include "truth.h"

enum { BLOCKS = 1000000 };

static struct block blocks[BLOCKS];

FRAME static struct block one(unsigned number) {
    long bytes = 1 + number % 24;
    switch (number % 3) {
    case 0: return TAKE(malloc((size_t)bytes), bytes);
    case 1: return TAKE(calloc(1, (size_t)bytes), bytes);
    default: return TAKE(realloc(NULL, (size_t)bytes), bytes);
    }
}

int main(void) {
    unsigned random = 1;
    for (unsigned i = 0; i < BLOCKS; i++) {
        random = random * 1664525u + 1013904223u;
        blocks[i] = one(random >> 8);
    }
    for (unsigned i = 0; i < BLOCKS; i += 2) give(blocks[i]);
    truth_print();
    return 0;
}
