// cause: arena-freed-at-once
// class: c
// report: https://www.postgresql.org/docs/current/spi-memory.html
// verdict: clean
// note: Every request allocates from chunks of an arena without a free of its own; the whole arena goes at the end of the request.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
    struct chunk *next;
    size_t used;
    char bytes[16 * 1024];
};

struct arena {
    struct chunk *chunks;
};

static void *take(struct arena *a, size_t size) {
    size = (size + 15) & ~(size_t)15;
    if (!a->chunks || a->chunks->used + size > sizeof a->chunks->bytes) {
        struct chunk *c = malloc(sizeof *c);
        if (!c)
            abort();
        c->next = a->chunks;
        c->used = 0;
        a->chunks = c;
    }
    void *p = a->chunks->bytes + a->chunks->used;
    a->chunks->used += size;
    return p;
}

static void release(struct arena *a) {
    while (a->chunks) {
        struct chunk *next = a->chunks->next;
        free(a->chunks);
        a->chunks = next;
    }
}

struct word {
    struct word *next;
    char *text;
};

static long count_words(struct arena *a, const char *body) {
    struct word *words = NULL;
    long count = 0;
    while (*body) {
        size_t n = strcspn(body, " ");
        struct word *w = take(a, sizeof *w);
        w->text = take(a, n + 1);
        memcpy(w->text, body, n);
        w->text[n] = '\0';
        w->next = words;
        words = w;
        count++;
        body += n + (body[n] == ' ');
    }
    return count;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 6000;
    enum { SIZE = 60000 };
    char *body = malloc(SIZE + 1);
    for (int i = 0; i < SIZE; i++)
        body[i] = i % 9 == 8 ? ' ' : 'a' + i % 26;
    body[SIZE] = '\0';
    long words = 0;
    for (long i = 0; i < iterations; i++) {
        struct arena arena = {NULL};
        words += count_words(&arena, body);
        release(&arena);
    }
    free(body);
    printf("%ld words\n", words);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
