// Fragments the heap by blocks of mixed sizes from eight threads, most of which are freed again, and ends two seconds later.
//
//   fragments ends     leaves it at that
//   fragments trims    asks for the free memory itself, and says what came back:  trimmed BYTES
#include <pthread.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, BLOCKS = 12000, ROUNDS = 20, KEPT = 16 };

static void *blocks[THREADS][BLOCKS];

static void rest(long milliseconds) { nanosleep(&(struct timespec){0, milliseconds * 1000000}, NULL); }

static size_t mixed(unsigned *state) {
    *state = *state * 1103515245 + 12345;
    return 100 + (*state >> 16) % 3000;
}

static void *work(void *argument) {
    void **own = argument;
    unsigned state = 1 + (unsigned)((void *(*)[BLOCKS])argument - blocks);
    for (int i = 0; i < BLOCKS; i++) {
        size_t size = i % KEPT == 0 ? 100 : mixed(&state);
        own[i] = memset(malloc(size), 1, size);
        if (i % (BLOCKS / ROUNDS) == 0)
            rest(10);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (i % KEPT != 0)
            free(own[i]);
    return NULL;
}

static long resident(void) {
    long whole = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%ld %ld", &whole, &pages) != 2)
        abort();
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, blocks[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 200; i++)
        rest(10);
    if (argc > 1 && strcmp(argv[1], "trims") == 0) {
        long before = resident();
        malloc_trim(0);
        printf("trimmed %ld\n", before - resident());
    }
    return 0;
}
