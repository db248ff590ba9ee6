/* Accesses to memory that is not the program's, each on a line that it says, and the same accesses to memory that is:
 *
 *     error KIND LINE ALLOCATED_LINE         the access, and where the block was allocated
 *
 * With the word "healthy" every access is a sound one, and nothing is said. */
#include "truth.h"

#include <pthread.h>

static int healthy;
static volatile int sink;

#define SAY(kind, line, allocated)                                                                                              \
    do {                                                                                                                        \
        char text[100];                                                                                                         \
        if (!healthy && write(1, text, snprintf(text, sizeof text, "error %s %d %d\n", kind, line, allocated)) < 0)             \
            _exit(9);                                                                                                           \
    } while (0)

static __attribute__((noinline)) void write_behind(void) {
    char *block = calloc(1, 32); int line = __LINE__;
    int at = healthy ? 31 : 32;
    ESCAPE(block);
    block[at] = 1; SAY("InvalidWrite", __LINE__, line);
    ESCAPE(block);
    free(block);
}

static __attribute__((noinline)) void read_before(void) {
    int *block = calloc(8, sizeof *block), line = __LINE__;
    int at = healthy ? 0 : -1;
    ESCAPE(block);
    sink = block[at]; SAY("InvalidRead", __LINE__, line);
    free(block);
}

static __attribute__((noinline)) void read_after_free(void) {
    int *block = calloc(8, sizeof *block), *kept = block, line = __LINE__;
    ESCAPE(kept);
    if (!healthy) free(block);
    sink = kept[2]; SAY("InvalidRead", __LINE__, line);
    if (healthy) free(block);
}

static void *thread(void *unused) {
    int *block = calloc(8, sizeof *block), line = __LINE__;
    int at = healthy ? 7 : 8;
    ESCAPE(block);
    sink = block[at]; SAY("InvalidRead", __LINE__, line);
    free(block);
    return unused;
}

int main(int count, char **words) {
    pthread_t other;
    healthy = count > 1 && strcmp(words[1], "healthy") == 0;
    write_behind();
    read_before();
    read_after_free();
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    return 0;
}
