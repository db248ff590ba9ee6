/* Ten thousand threads born and gone, at most fifty at a time. Each leaves two blocks and takes one away with it; the next
 * generation frees one of the blocks that its predecessor left. */
#include "truth.h"

#include <pthread.h>

enum { THREADS = 10000, AT_ONCE = 50 };

static struct block left[THREADS];

FRAME static void *life(void *argument) {
    long self = (long)argument;
    TAKE(malloc((size_t)(16 + self % 32)), 16 + self % 32);
    left[self] = TAKE(malloc((size_t)(100 + self % 7)), 100 + self % 7);
    give(TAKE(malloc(48), 48));
    if (self >= AT_ONCE) give(left[self - AT_ONCE]);
    return NULL;
}

int main(void) {
    pthread_t threads[AT_ONCE];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 * 1024);
    for (long first = 0; first < THREADS; first += AT_ONCE) {
        for (long i = 0; i < AT_ONCE; i++) NEED(pthread_create(&threads[i], &small, life, (void *)(first + i)) == 0);
        for (long i = 0; i < AT_ONCE; i++) pthread_join(threads[i], NULL);
    }
    truth_print();
    return 0;
}
