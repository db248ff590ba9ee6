// cause: table-without-eviction
// class: c
// report: https://github.com/project-hatohol/hatohol/issues/108
// verdict: leak
// line: 36
// bytes-per-iteration: 2064
// holder: table
// fix: evict, expire, remove, free
// note: Every visitor gets a new identifier and a session of 2,056 bytes (a block of 2,064) in the chains of the static table; nothing removes sessions.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096

struct session {
    struct session *next;
    uint64_t id;
    unsigned hits;
    unsigned size;
    char page[2032];
};

static struct session *table[BUCKETS];

static struct session *find(uint64_t id) {
    for (struct session *s = table[id % BUCKETS]; s; s = s->next)
        if (s->id == id)
            return s;
    return NULL;
}

static struct session *open_session(uint64_t id) {
    struct session *s = malloc(sizeof *s);
    if (!s)
        abort();
    s->id = id;
    s->hits = 0;
    s->size = sizeof s->page;
    memset(s->page, (int)('a' + id % 26), sizeof s->page);
    s->next = table[id % BUCKETS];
    table[id % BUCKETS] = s;
    return s;
}

static unsigned serve(uint64_t id) {
    struct session *s = find(id);
    if (!s)
        s = open_session(id);
    s->hits++;
    unsigned sum = 0;
    for (int pass = 0; pass < 60; pass++)
        for (unsigned i = 0; i < s->size; i++)
            sum = sum * 31 + (unsigned char)s->page[i] + pass;
    return sum;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 15000;
    unsigned sum = 0;
    uint64_t state = 88172645463325252ull;
    for (long i = 0; i < iterations; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        sum += serve(state);
        sum += serve(state);
    }
    printf("%u\n", sum);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
