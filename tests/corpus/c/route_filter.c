// cause: regcomp-without-regfree
// class: c
// report: https://github.com/newsboat/newsboat/pull/637
// verdict: lost
// line: 33
// bytes-per-iteration: 12692
// holder: -
// fix: regfree
// note: Each check compiles three patterns into a local variable and never releases them; what regcomp allocates (12,692 bytes in 258 blocks for the three, by Memcheck; the chunks take 18 KB) is glibc's.

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const patterns[] = {
    "^/api/v[0-9]+/users/[a-z]+$",
    "^/static/(css|js|img)/[a-z0-9_.-]+$",
    "^/orders/[0-9]+/(lines|notes)$",
};

static unsigned fingerprint(const char *text) {
    unsigned sum = 2166136261u;
    size_t length = strlen(text);
    for (int pass = 0; pass < 2000; pass++)
        for (size_t i = 0; i < length; i++)
            sum = (sum ^ (unsigned char)text[i]) * 16777619u;
    return sum;
}

static int groups_of(const char *pattern) {
    regex_t expression;
    if (regcomp(&expression, pattern, REG_EXTENDED) != 0)
        return -1;
    return (int)expression.re_nsub;
}

static int check_rules(unsigned *sum) {
    int groups = 0;
    for (unsigned i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        int found = groups_of(patterns[i]);
        if (found < 0)
            return -1;
        groups += found;
        *sum ^= fingerprint(patterns[i]);
    }
    return groups;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 4000;
    unsigned sum = 0;
    long groups = 0;
    for (long i = 0; i < iterations; i++)
        groups += check_rules(&sum);
    printf("%ld groups, %u\n", groups, sum);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
