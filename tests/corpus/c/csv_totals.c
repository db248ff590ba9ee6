// cause: line-buffer-reused
// class: c
// report: https://man7.org/linux/man-pages/man3/getline.3.html
// verdict: clean
// note: One buffer serves all calls of getline and grows to the longest line only.

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *sample(size_t *size) {
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    for (int row = 0; row < 400; row++) {
        for (int column = 0; column < 4 + row % 40; column++)
            fprintf(out, "%d;", row * column);
        fputc('\n', out);
    }
    fclose(out);
    return text;
}

static long total(FILE *in, char **line, size_t *capacity) {
    long sum = 0;
    while (getline(line, capacity, in) > 0) {
        char *save = NULL;
        for (char *cell = strtok_r(*line, ";\n", &save); cell; cell = strtok_r(NULL, ";\n", &save))
            sum += strtol(cell, NULL, 10);
    }
    return sum;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 4000;
    size_t size = 0;
    char *table = sample(&size);
    char *line = NULL;
    size_t capacity = 0;
    long sum = 0;
    for (long i = 0; i < iterations; i++) {
        FILE *in = fmemopen(table, size, "r");
        sum += total(in, &line, &capacity);
        fclose(in);
    }
    free(line);
    free(table);
    printf("%ld\n", sum);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
