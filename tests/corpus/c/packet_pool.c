// cause: pool-reaches-its-size
// class: c
// report: https://doc.dpdk.org/guides/prog_guide/mempool_lib.html
// verdict: plateau
// note: Packets return to a free list and are never given to free; the list stops growing when it has as many packets as the longest burst needs (6,000 of 4 KiB).

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct packet {
    struct packet *next;
    unsigned length;
    unsigned char data[4080];
};

static struct packet *spare;
static long made;

static struct packet *get(void) {
    struct packet *p = spare;
    if (p) {
        spare = p->next;
        return p;
    }
    p = malloc(sizeof *p);
    if (!p)
        abort();
    made++;
    return p;
}

static void put(struct packet *p) {
    p->next = spare;
    spare = p;
}

static unsigned burst(int count) {
    struct packet *queue = NULL;
    unsigned sum = 0;
    for (int i = 0; i < count; i++) {
        struct packet *p = get();
        p->length = 64 + (unsigned)i % 1400;
        memset(p->data, i, p->length);
        p->next = queue;
        queue = p;
    }
    while (queue) {
        struct packet *p = queue;
        queue = p->next;
        for (unsigned i = 0; i < p->length; i++)
            sum += p->data[i];
        put(p);
    }
    return sum;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 600;
    unsigned sum = 0;
    for (long i = 0; i < iterations; i++) {
        int size = i < 40 ? 150 * (int)(i + 1) : 2000 + (int)(i * 37 % 4000);
        sum += burst(size);
    }
    printf("%u, %ld packets\n", sum, made);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
