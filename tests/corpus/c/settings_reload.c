// cause: strdup-overwritten
// class: c
// report: https://man7.org/linux/man-pages/man3/strdup.3.html
// verdict: lost
// line: 45
// bytes-per-iteration: 6144
// holder: -
// fix: free
// note: Every reload stores new copies over the old pointers: 64 values of 96 bytes, chunks of 112, each time.

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 64

struct setting {
    char name[24];
    char *value;
};

static struct setting settings[COUNT];

static struct setting *slot_for(const char *name) {
    for (int i = 0; i < COUNT; i++) {
        if (settings[i].name[0] == '\0') {
            snprintf(settings[i].name, sizeof settings[i].name, "%.23s", name);
            return &settings[i];
        }
        if (strcmp(settings[i].name, name) == 0)
            return &settings[i];
    }
    return NULL;
}

static int parse_line(char *line) {
    char *equals = strchr(line, '=');
    if (!equals)
        return -1;
    *equals = '\0';
    struct setting *slot = slot_for(line);
    if (!slot)
        return -1;
    slot->value = strdup(equals + 1);
    return slot->value ? 0 : -1;
}

static int reload(long generation) {
    char line[160];
    int good = 0;
    for (int i = 0; i < COUNT; i++) {
        int n = snprintf(line, sizeof line, "section.%02d.option=%08ld", i, generation);
        memset(line + n, 'v', 87);
        line[n + 87] = '\0';
        good += parse_line(line) == 0;
    }
    return good;
}

static unsigned digest(void) {
    unsigned sum = 5381;
    for (int pass = 0; pass < 30; pass++)
        for (int i = 0; i < COUNT; i++)
            for (const char *p = settings[i].value; *p; p++)
                sum = sum * 33 + (unsigned char)*p;
    return sum;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 6000;
    unsigned sum = 0;
    for (long i = 0; i < iterations; i++) {
        if (reload(i) != COUNT)
            return 1;
        sum ^= digest();
    }
    printf("digest %u\n", sum);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
