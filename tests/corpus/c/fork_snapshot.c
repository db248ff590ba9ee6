// cause: copy-on-write-children
// class: c
// report: https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/
// verdict: clean
// note: A child writes a snapshot of the table while the parent changes it; pages are copied while the child lives and the parent's own size stays the same.

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS (2 * 1024 * 1024)

static uint32_t *table;

static void change(uint32_t seed) {
    for (int i = 0; i < 200000; i++) {
        seed = seed * 1664525u + 1013904223u;
        table[(seed >> 8) % WORDS] ^= seed;
    }
}

static int snapshot(void) {
    pid_t child = fork();
    if (child < 0)
        return -1;
    if (child == 0) {
        uint32_t sum = 0;
        for (int i = 0; i < WORDS; i++)
            sum = sum * 31 + table[i];
        _exit((int)(sum & 1));
    }
    change((uint32_t)child);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 150;
    table = malloc(sizeof *table * WORDS);
    if (!table)
        return 1;
    for (int i = 0; i < WORDS; i++)
        table[i] = (uint32_t)i;
    long odd = 0;
    for (long i = 0; i < iterations; i++)
        odd += snapshot();
    free(table);
    printf("%ld\n", odd >= 0 ? iterations : odd);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
