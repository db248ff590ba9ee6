/* A thousand live blocks and COUNT malloc/free pairs on top of them, from a few different stacks. */
#include "truth.h"

enum { LIVE = 1000 };

static struct block kept[LIVE];

FRAME static void *one(size_t bytes) {
    void *at = malloc(bytes);
    ESCAPE(at);
    return at;
}

FRAME static void *deeper(size_t bytes, int depth) {
    void *at = depth ? deeper(bytes, depth - 1) : one(bytes);
    ESCAPE(at);
    return at;
}

int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 1000000;
    for (int i = 0; i < LIVE; i++) kept[i] = TAKE(malloc((size_t)(100 + i)), 100 + i);
    for (long i = 0; i < count; i++) free(deeper((size_t)(16 + i % 500), (int)(i & 3)));
    truth_print();
    return 0;
}
