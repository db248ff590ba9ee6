// cause: sawtooth-by-batch
// class: c
// report: https://www.rsyslog.com/doc/concepts/queues.html
// verdict: clean
// note: Messages gather in a list and are all freed when 250 of them are there; memory rises and falls with each batch.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct message {
    struct message *next;
    size_t length;
    char text[];
};

struct batch {
    struct message *first;
    int count;
    unsigned long checksum;
};

static void add(struct batch *b, long number) {
    size_t length = 20000 + (size_t)(number % 7) * 1000;
    struct message *m = malloc(sizeof *m + length);
    if (!m)
        abort();
    m->length = length;
    for (size_t i = 0; i < length; i++)
        m->text[i] = (char)(number + (long)i * 3);
    m->next = b->first;
    b->first = m;
    b->count++;
}

static void flush(struct batch *b) {
    struct message *m = b->first;
    while (m) {
        struct message *next = m->next;
        for (size_t i = 0; i < m->length; i++)
            b->checksum = b->checksum * 131 + (unsigned char)m->text[i];
        free(m);
        m = next;
    }
    b->first = NULL;
    b->count = 0;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 30000;
    struct batch batch = {NULL, 0, 0};
    for (long i = 0; i < iterations; i++) {
        add(&batch, i);
        if (batch.count == 250)
            flush(&batch);
    }
    flush(&batch);
    printf("%lu\n", batch.checksum);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
