/* Known totals over a wide range of sizes, for sampling: 24,000 small, 4,000 middle and 200 large blocks; half of each kind
 * is freed again. */
#include "truth.h"

FRAME static struct block small(long i) {
    return TAKE(malloc((size_t)(200 + i % 400)), 200 + i % 400);
}

FRAME static struct block middle(long i) {
    return TAKE(malloc((size_t)(4000 + i % 1000)), 4000 + i % 1000);
}

FRAME static struct block large(long i) {
    return TAKE(malloc((size_t)(100000 + i)), 100000 + i);
}

int main(void) {
    for (long i = 0; i < 24000; i++) {
        struct block block = small(i);
        if (i % 2) give(block);
    }
    for (long i = 0; i < 4000; i++) {
        struct block block = middle(i);
        if (i % 2) give(block);
    }
    for (long i = 0; i < 200; i++) {
        struct block block = large(i);
        if (i % 2) give(block);
    }
    truth_print();
    return 0;
}
