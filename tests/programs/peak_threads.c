/* A peak that four threads reach together and hold while all are quiet; then all of them free at once. */
#include "truth.h"

#include <pthread.h>

enum { THREADS = 4, BLOCKS = 2000 };

static struct block shelves[THREADS][BLOCKS];
static pthread_barrier_t meeting;

FRAME static struct block big(long bytes) {
    return TAKE(malloc((size_t)bytes), bytes);
}

FRAME static struct block small(long bytes) {
    return TAKE(malloc((size_t)bytes), bytes);
}

static void fill(int self) {
    for (int i = 0; i < BLOCKS; i++) shelves[self][i] = (i + self) % 3 ? small(64 + i % 64) : big(4096 + self);
}

static void *work(void *argument) {
    int self = (int)(long)argument;
    fill(self);
    if (pthread_barrier_wait(&meeting) == PTHREAD_BARRIER_SERIAL_THREAD) {
        truth_take_peak();
        truth_peak_claimed = 2;
    }
    pthread_barrier_wait(&meeting);
    for (int i = 0; i < BLOCKS; i++)
        if (i % 10) give(shelves[(self + i) % THREADS][i]);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&meeting, NULL, THREADS);
    for (long i = 0; i < THREADS; i++) NEED(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    truth_print();
    return 0;
}
