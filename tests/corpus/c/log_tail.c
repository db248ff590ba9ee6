// cause: getline-buffer-not-freed
// class: c
// report: https://github.com/Alexays/Waybar/pull/2077
// verdict: lost
// line: 45
// bytes-per-iteration: 3024
// holder: -
// fix: free, reuse
// note: getline allocates a buffer because line starts as NULL in every call, and nothing frees it; the record has 3,000 bytes, which is a block of 3,024.

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD 3000

static void write_sample(const char *path) {
    FILE *out = fopen(path, "w");
    if (!out) {
        perror(path);
        exit(1);
    }
    for (int i = 0; i < RECORD - 1; i++)
        fputc(i % 60 == 59 ? ' ' : 'a' + i % 26, out);
    fputc('\n', out);
    fclose(out);
}

static unsigned weigh(const char *text, ssize_t length) {
    unsigned sum = 2166136261u;
    for (int pass = 0; pass < 40; pass++)
        for (ssize_t i = 0; i < length; i++)
            sum = (sum ^ (unsigned char)text[i]) * 16777619u;
    return sum;
}

static int newest_record(const char *path, unsigned *sum) {
    FILE *in = fopen(path, "r");
    if (!in)
        return -1;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length = getline(&line, &capacity, in);
    fclose(in);
    if (length < 0)
        return -1;
    int words = 1;
    for (ssize_t i = 0; i < length; i++)
        words += line[i] == ' ';
    *sum += weigh(line, length);
    return words;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 10000;
    char path[] = "/tmp/log_tail_XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) {
        perror("mkstemp");
        return 1;
    }
    close(fd);
    write_sample(path);
    unsigned sum = 0;
    long words = 0;
    for (long i = 0; i < iterations; i++)
        words += newest_record(path, &sum);
    unlink(path);
    printf("%ld words, %u\n", words, sum);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
