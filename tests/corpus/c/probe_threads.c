// cause: threads-never-joined
// class: c
// report: https://github.com/baresip/baresip/issues/2549
// verdict: leak
// line: 40
// bytes-per-iteration: 106496
// holder: thread
// fix: join, detach
// note: A joinable thread that ended keeps its stack mapping (128 KiB, of which 96 KiB thread-local scratch and two pages beside it stay resident) until it is joined.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCRATCH (96 * 1024)

static __thread unsigned char scratch[SCRATCH];
static atomic_ulong answered;

static void *probe(void *argument) {
    unsigned seed = (unsigned)(size_t)argument;
    for (int pass = 0; pass < 24; pass++)
        for (int i = 0; i < SCRATCH; i++) {
            seed = seed * 1103515245u + 12345u;
            scratch[i] = (unsigned char)(seed >> 16);
        }
    atomic_fetch_add(&answered, scratch[seed % SCRATCH]);
    return NULL;
}

static int start_probe(long number) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 * 1024);
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, probe, (void *)number);
    pthread_attr_destroy(&attributes);
    return error;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 400;
    for (long i = 0; i < iterations; i++) {
        int error = start_probe(i + 1);
        if (error) {
            fprintf(stderr, "thread %ld: %s\n", i, strerror(error));
            return 1;
        }
        usleep(3000);
    }
    usleep(50000);
    printf("%lu\n", atomic_load(&answered));
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
