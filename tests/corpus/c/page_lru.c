// cause: lru-with-bound
// class: c
// report: https://www.sqlite.org/malloc.html
// verdict: plateau
// note: The cache keeps the 1,024 pages used last (32 KiB each, 32 MiB) and frees the oldest page for each new one.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT 1024
#define SIZE (32 * 1024)

struct page {
    struct page *newer, *older;
    uint32_t number;
    unsigned char *bytes;
};

static struct page *newest, *oldest;
static int held;

static void unlink_page(struct page *p) {
    if (p->newer)
        p->newer->older = p->older;
    else
        newest = p->older;
    if (p->older)
        p->older->newer = p->newer;
    else
        oldest = p->newer;
    held--;
}

static void push(struct page *p) {
    p->newer = NULL;
    p->older = newest;
    if (newest)
        newest->newer = p;
    else
        oldest = p;
    newest = p;
    held++;
}

static struct page *read_page(uint32_t number) {
    for (struct page *p = newest; p; p = p->older)
        if (p->number == number) {
            unlink_page(p);
            push(p);
            return p;
        }
    while (held >= LIMIT) {
        struct page *last = oldest;
        unlink_page(last);
        free(last->bytes);
        free(last);
    }
    struct page *p = malloc(sizeof *p);
    p->number = number;
    p->bytes = malloc(SIZE);
    memset(p->bytes, (int)number, SIZE);
    push(p);
    return p;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 60000;
    uint32_t seed = 1;
    unsigned long sum = 0;
    for (long i = 0; i < iterations; i++) {
        seed = seed * 1664525u + 1013904223u;
        struct page *p = read_page((seed >> 10) % 3000);
        for (int k = 0; k < SIZE; k += 16)
            sum += p->bytes[k];
    }
    printf("%lu\n", sum);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
