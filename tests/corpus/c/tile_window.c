// cause: mmap-without-munmap
// class: c
// report: https://github.com/canonical/ubuntu-frame/pull/213
// verdict: lost
// line: 25
// bytes-per-iteration: 65536
// holder: -
// fix: munmap
// note: Each new window is an anonymous mapping of 64 KiB that is wholly written; the pointer to the one before is overwritten without munmap.

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define WINDOW (64 * 1024)

struct view {
    unsigned char *pixels;
    long x;
};

static int move_to(struct view *v, long x) {
    unsigned char *pixels = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pixels == MAP_FAILED)
        return -1;
    for (int i = 0; i < WINDOW; i++)
        pixels[i] = (unsigned char)(x * 3 + i);
    v->pixels = pixels;
    v->x = x;
    return 0;
}

static unsigned brightness(const struct view *v) {
    unsigned sum = 0;
    for (int pass = 0; pass < 40; pass++)
        for (int i = 0; i < WINDOW; i++)
            sum = sum * 7 + v->pixels[i];
    return sum;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 800;
    struct view view = {NULL, 0};
    unsigned sum = 0;
    for (long i = 0; i < iterations; i++) {
        if (move_to(&view, i) != 0)
            return 1;
        sum ^= brightness(&view);
    }
    printf("%u at %ld\n", sum, view.x);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
