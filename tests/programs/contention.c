/* Sixty-four threads that contend: blocks of all sizes go through one exchange, so that most are freed by another thread
 * than the one that made them, and all from the same few lines. */
#include "truth.h"

#include <pthread.h>

enum { THREADS = 64, EVENTS = 20000, SHELVES = 512 };

static struct {
    pthread_spinlock_t lock;
    struct block block;
} exchange[SHELVES];
static pthread_barrier_t start;

FRAME static struct block make(unsigned random) {
    long bytes = random % 64 == 0 ? 20000 + random % 100000 : 1 + random % 900;
    switch (random >> 20 & 3) {
    case 0: return TAKE(calloc(1, (size_t)bytes), bytes);
    case 1: return TAKE(aligned_alloc(64, (size_t)bytes), bytes);
    default: return TAKE(malloc((size_t)bytes), bytes);
    }
}

static struct block swap(unsigned shelf, struct block block) {
    pthread_spin_lock(&exchange[shelf].lock);
    struct block before = exchange[shelf].block;
    exchange[shelf].block = block;
    pthread_spin_unlock(&exchange[shelf].lock);
    return before;
}

static void *work(void *argument) {
    unsigned random = 12345u + 977u * (unsigned)(long)argument;
    pthread_barrier_wait(&start);
    for (int event = 0; event < EVENTS; event++) {
        random = random * 1664525u + 1013904223u;
        struct block before = swap(random >> 8 & (SHELVES - 1), make(random >> 4));
        if (before.at != NULL) give(before);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < SHELVES; i++) pthread_spin_init(&exchange[i].lock, PTHREAD_PROCESS_PRIVATE);
    pthread_barrier_init(&start, NULL, THREADS);
    for (long i = 0; i < THREADS; i++) NEED(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    truth_print();
    return 0;
}
