// cause: missing-free-on-error-path
// class: c
// report: https://github.com/ovis-hpc/ldms/pull/1936
// verdict: lost
// line: 41
// bytes-per-iteration: 8208
// holder: -
// fix: free, goto
// note: One of four frames has a wrong checksum, and the early return leaves its buffer of 8,192 bytes (a block of 8,208) behind.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY 8192

struct frame {
    uint32_t kind;
    uint32_t checksum;
    unsigned char body[BODY];
};

static uint32_t checksum(const unsigned char *data, size_t n) {
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < n; i++) {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static void fill(struct frame *f, long number, int bad) {
    f->kind = (uint32_t)(number % 3);
    for (int i = 0; i < BODY; i++)
        f->body[i] = (unsigned char)(number + i * 7);
    f->checksum = checksum(f->body, BODY) + (bad ? 1 : 0);
}

static int decode(const struct frame *f, uint64_t *total) {
    unsigned char *plain = malloc(BODY);
    if (!plain)
        return -1;
    for (int i = 0; i < BODY; i++)
        plain[i] = f->body[i] ^ 0x5a;
    if (checksum(f->body, BODY) != f->checksum)
        return -1;
    for (int i = 0; i < BODY; i++)
        *total += plain[i];
    free(plain);
    return 0;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 7000;
    static struct frame frames[4];
    uint64_t total = 0;
    long rejected = 0;
    for (int k = 0; k < 4; k++)
        fill(&frames[k], k, k == 2);
    for (long i = 0; i < iterations; i++)
        for (int k = 0; k < 4; k++)
            rejected += decode(&frames[k], &total) != 0;
    printf("%llu, %ld rejected\n", (unsigned long long)total, rejected);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
