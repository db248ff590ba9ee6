// cause: holes-of-shrunk-blocks
// class: c
// report: https://sourceware.org/glibc/wiki/MallocInternals
// verdict: plateau
// note: Answers are read into blocks of several KiB and shrunk to 64 bytes once 32 newer ones are there; the holes between the 20,000 answers in the ring stay free but resident, and the level is reached once the ring is full.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RING 20000

static char *ring[RING];
static unsigned position;

static char *fetch(long number, size_t room) {
    char *answer = malloc(room);
    if (!answer)
        abort();
    for (size_t i = 0; i < room; i++)
        answer[i] = (char)('a' + (number + (long)i) % 26);
    unsigned sum = 0;
    for (size_t i = 0; i < room; i++)
        sum = sum * 31 + (unsigned char)answer[i];
    snprintf(answer, 64, "answer %ld: %u", number, sum);
    return answer;
}

static void remember(char *answer) {
    free(ring[position]);
    ring[position] = answer;
    unsigned settled = (position + RING - 32) % RING;
    if (ring[settled]) {
        char *small = realloc(ring[settled], 64);
        if (small)
            ring[settled] = small;
    }
    position = (position + 1) % RING;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 240000;
    for (long i = 0; i < iterations; i++)
        remember(fetch(i, 2048 + (size_t)(i * 7919 % 2048)));
    printf("%s\n", ring[0] ? ring[0] : "none");
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
