// cause: allocator-arenas-of-threads
// class: c
// report: https://sourceware.org/glibc/wiki/MallocInternals#Arenas_and_Heaps
// verdict: clean
// note: Joined threads allocate from arenas of their own; all blocks are freed, the number of arenas is bounded and later threads use them again.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 160

static void *work(void *argument) {
    unsigned seed = (unsigned)(size_t)argument;
    unsigned char *blocks[BLOCKS];
    size_t sum = 0;
    for (int i = 0; i < BLOCKS; i++) {
        seed = seed * 1103515245u + 12345u;
        size_t size = 1000 + (seed >> 8) % 20000;
        blocks[i] = malloc(size);
        memset(blocks[i], i, size);
        for (size_t k = 0; k < size; k += 3)
            sum += blocks[i][k];
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[(i * 7) % BLOCKS]);
    return (void *)sum;
}

static size_t round_of_work(long number) {
    pthread_t threads[6];
    size_t total = 0;
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, work, (void *)(number * 6 + i + 1));
    for (int i = 0; i < 6; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        total += (size_t)sum;
    }
    return total;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 400;
    size_t total = 0;
    for (long i = 0; i < iterations; i++)
        total += round_of_work(i);
    printf("%zu\n", total);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
