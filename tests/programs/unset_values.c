/* Values that were never set, used in every way that counts, and the same again with values that were set. Each use says its line:
 *
 *     error KIND LINE ORIGIN_LINE            the use of a value, and where it was created
 *
 * With the word "healthy" every value is set first, and nothing is said. */
#include "truth.h"

#include <fcntl.h>
#include <pthread.h>

static int healthy;
static volatile int sink;

#define SAY(kind, line, origin)                                                                                                 \
    do {                                                                                                                        \
        char text[100];                                                                                                         \
        if (!healthy && write(1, text, snprintf(text, sizeof text, "error %s %d %d\n", kind, line, origin)) < 0)                \
            _exit(9);                                                                                                           \
    } while (0)

static void set(void *memory, int bytes) {
    ESCAPE(memory); /* or malloc and memset become calloc */
    if (healthy)
        memset(memory, 0, bytes);
    ESCAPE(memory);
}

static __attribute__((noinline)) void condition_from_heap(void) {
    int *block = malloc(sizeof *block), origin = __LINE__;
    set(block, sizeof *block);
    if (*block == 4711) sink = 1; SAY("UninitCondition", __LINE__, origin);
    free(block);
}

/* The origin on a stack is where its function takes room there: which line that is, is the compiler's, so it is all on one. */
static __attribute__((noinline)) void condition_from_stack(void) { int values[8], origin = __LINE__; set(values, sizeof values);
    if (values[3] == 4711) sink = 1; SAY("UninitCondition", __LINE__, origin);
}

static __attribute__((noinline)) void address_from_heap(void) {
    static volatile int table[256];
    unsigned char *block = malloc(1); int origin = __LINE__;
    set(block, 1);
    sink = table[*block]; SAY("UninitValue", __LINE__, origin);
    free(block);
}

static __attribute__((noinline)) void system_call_from_heap(void) {
    int null = open("/dev/null", O_WRONLY);
    char *block = malloc(16); int origin = __LINE__;
    set(block, 16);
    sink = (int)write(null, block, 16); SAY("SyscallParam", __LINE__, origin);
    free(block);
    close(null);
}

static __attribute__((noinline)) void system_call_from_stack(void) { char bytes[64]; int origin = __LINE__, null = open("/dev/null", O_WRONLY);
    set(bytes, sizeof bytes);
    sink = (int)write(null, bytes, sizeof bytes); SAY("SyscallParam", __LINE__, origin);
    close(null);
}

static void *thread(void *unused) {
    int *block = malloc(sizeof *block), origin = __LINE__;
    set(block, sizeof *block);
    if (*block == 4711) sink = 1; SAY("UninitCondition", __LINE__, origin);
    free(block);
    return unused;
}

/* The same line three times: one error. */
static __attribute__((noinline)) void again_and_again(void) {
    int *block = malloc(3 * sizeof *block), origin = __LINE__, at, line = 0;
    set(block, 3 * sizeof *block);
    for (at = 0; at < 3; at++)
        if (((volatile int *)block)[at] == 4711) sink = 1; line = __LINE__;
    SAY("UninitCondition", line, origin);
    free(block);
}

int main(int count, char **words) {
    pthread_t other;
    healthy = count > 1 && strcmp(words[1], "healthy") == 0;
    condition_from_heap();
    condition_from_stack();
    address_from_heap();
    system_call_from_heap();
    system_call_from_stack();
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    again_and_again();
    return 0;
}
