// cause: buffer-grown-by-realloc
// class: c
// report: https://man7.org/linux/man-pages/man3/realloc.3.html
// verdict: leak
// line: 29
// bytes-per-iteration: 2048
// holder: journal
// fix: truncate, flush, reset, bound
// note: Entries of 2,048 bytes are appended to one buffer that is doubled when full and never written out or emptied; only the written part is resident.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct journal {
    char *text;
    size_t used;
    size_t capacity;
};

static struct journal journal;

static void reserve(struct journal *j, size_t extra) {
    if (j->used + extra <= j->capacity)
        return;
    size_t capacity = j->capacity ? j->capacity * 2 : 4096;
    while (capacity < j->used + extra)
        capacity *= 2;
    char *text = realloc(j->text, capacity);
    if (!text)
        abort();
    j->text = text;
    j->capacity = capacity;
}

static void record(struct journal *j, long number, unsigned account) {
    char entry[2049];
    int n = snprintf(entry, sizeof entry, "entry %ld account %u ", number, account);
    memset(entry + n, '.', sizeof entry - n - 1);
    entry[2047] = '\n';
    reserve(j, 2048);
    memcpy(j->text + j->used, entry, 2048);
    j->used += 2048;
}

static unsigned next_account(unsigned seed) {
    for (int i = 0; i < 60000; i++)
        seed = seed * 1664525u + 1013904223u;
    return seed;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 15000;
    unsigned account = 1;
    for (long i = 0; i < iterations; i++) {
        account = next_account(account);
        record(&journal, i, account);
    }
    printf("%zu bytes of journal\n", journal.used);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
