/* Threads that free each other's blocks: in every round each thread fills its own shelf, all meet, each empties half of its
 * neighbour's shelf, all meet again. */
#include "truth.h"

#include <pthread.h>

enum { THREADS = 8, ROUNDS = 200, SHELF = 64 };

static struct block shelves[THREADS][SHELF];
static pthread_barrier_t meeting;

FRAME static struct block even_block(long bytes) {
    return TAKE(malloc((size_t)bytes), bytes);
}

FRAME static struct block odd_block(long bytes) {
    return TAKE(calloc(1, (size_t)bytes), bytes);
}

static void fill(int shelf, int round) {
    for (int i = 0; i < SHELF; i++)
        if (shelves[shelf][i].at == NULL) {
            long bytes = 1 + (shelf * 131 + round * 17 + i * 7) % 3000;
            shelves[shelf][i] = i % 2 ? odd_block(bytes) : even_block(bytes);
        }
}

static void empty_some(int shelf, int round) {
    for (int i = round % 2; i < SHELF; i += 2) {
        give(shelves[shelf][i]);
        shelves[shelf][i].at = NULL;
    }
}

static void *work(void *argument) {
    int self = (int)(long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        fill(self, round);
        pthread_barrier_wait(&meeting);
        empty_some((self + 1 + round) % THREADS, round);
        pthread_barrier_wait(&meeting);
    }
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
