/* What a test program knows about itself: bytes and blocks per source line, counted beside each call and printed as
 *
 *     truth PID LAYER FILE LINE  LIVE_BYTES LIVE_BLOCKS  ALLOCATED_BYTES ALLOCATED_BLOCKS  PEAK_BYTES PEAK_BLOCKS
 *     chain PID FILE LINE inner;…;outer           the program's own functions on the stack, innermost first
 *     truth-partial                               lines that are not spoken of may allocate, too
 *     truth-end PID                               everything above was printed
 *
 * What the program makes no claim about is printed as `-`: mostly the peak, and all but the live bytes of mappings. Nothing here allocates: printing is snprintf into the
 * stack and write(2), so that the book-keeping never shows up in the books. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum truth_layer { TRUTH_HEAP, TRUTH_ANONYMOUS, TRUTH_FILE, TRUTH_LAYERS };
enum { TRUTH_LINES = 1000 };

struct truth_amount {
    long bytes, blocks;
};

struct truth_row {
    struct truth_amount live, allocated, peak;
};

/* A block with the line that made it, so that whoever frees it can settle the right row. */
struct block {
    void *at;
    long bytes;
    int line;
};

__attribute__((unused)) static struct truth_row truth_rows[TRUTH_LAYERS][TRUTH_LINES];
__attribute__((unused)) static long truth_total, truth_highest;
__attribute__((unused)) static int truth_peak_claimed, truth_peak_pending;

/* The compiler may drop, merge or turn into calloc what it can see through. */
#define ESCAPE(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")
/* One frame per function: no inlining, no clones, no tail calls out of the caller's sight. */
#define FRAME __attribute__((noipa))

__attribute__((unused)) static void truth_add(struct truth_amount *amount, long bytes, long blocks) {
    __atomic_fetch_add(&amount->bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&amount->blocks, blocks, __ATOMIC_RELAXED);
}

__attribute__((unused)) static void truth_take_peak(void) {
    for (int line = 0; line < TRUTH_LINES; line++) truth_rows[TRUTH_HEAP][line].peak = truth_rows[TRUTH_HEAP][line].live;
    truth_peak_pending = 0;
}

/* `truth_peak_claimed` is 1 where the values at the peak are taken when the total first sinks again (one thread only),
 * 2 where the program took them by hand at a quiet moment. */
__attribute__((unused)) static void truth_follow_peak(long bytes) {
    if (truth_peak_claimed != 1) return;
    if (bytes < 0 && truth_peak_pending) truth_take_peak();
    truth_total += bytes;
    if (truth_total > truth_highest) {
        truth_highest = truth_total;
        truth_peak_pending = 1;
    }
}

__attribute__((unused)) static void truth_gained(enum truth_layer layer, int line, long bytes) {
    if (layer == TRUTH_HEAP) truth_follow_peak(bytes);
    truth_add(&truth_rows[layer][line].live, bytes, 1);
    truth_add(&truth_rows[layer][line].allocated, bytes, 1);
}

__attribute__((unused)) static void truth_lost(enum truth_layer layer, int line, long bytes) {
    if (layer == TRUTH_HEAP) truth_follow_peak(-bytes);
    truth_add(&truth_rows[layer][line].live, -bytes, -1);
}

__attribute__((unused)) static struct block truth_took(void *at, int line, long bytes) {
    struct block block = {at, bytes, line};
    ESCAPE(block.at);
    if (block.at != NULL) truth_gained(TRUTH_HEAP, line, bytes);
    return block;
}

/* The call stands on the line of the macro: that is the line of the row. */
#define TAKE(call, bytes) truth_took((void *)(call), __LINE__, (long)(bytes))

/* The row is settled first: once the block is gone, another thread may get the same address. */
__attribute__((unused)) static void truth_forget_block(struct block block) {
    if (block.at != NULL) truth_lost(TRUTH_HEAP, block.line, block.bytes);
}

__attribute__((unused)) static void give(struct block block) {
    truth_forget_block(block);
    free(block.at);
}

/* In a forked child: what it inherited is its parent's. */
__attribute__((unused)) static void truth_begin_child(void) {
    memset(truth_rows, 0, sizeof truth_rows);
    truth_total = truth_highest = 0;
}

__attribute__((unused)) static const char *truth_file(void) {
    const char *slash = strrchr(__BASE_FILE__, '/');
    return slash ? slash + 1 : __BASE_FILE__;
}

__attribute__((unused)) static void truth_say(const char *text, int length) {
    while (length > 0) {
        ssize_t written = write(STDOUT_FILENO, text, (size_t)length);
        if (written <= 0) return;
        text += written;
        length -= (int)written;
    }
}

__attribute__((unused)) static void truth_print_row(const char *layer, int line, const struct truth_row *row) {
    char text[256];
    int heap = strcmp(layer, "native") == 0;
    int length = snprintf(text, sizeof text, "truth %d %s %s %d %ld ", (int)getpid(), layer, truth_file(), line, row->live.bytes);
    if (heap)
        length += snprintf(text + length, sizeof text - (size_t)length, "%ld %ld %ld ", row->live.blocks,
                           row->allocated.bytes, row->allocated.blocks);
    else
        length += snprintf(text + length, sizeof text - (size_t)length, "- - - ");
    if (heap && truth_peak_claimed)
        length += snprintf(text + length, sizeof text - (size_t)length, "%ld %ld\n", row->peak.bytes, row->peak.blocks);
    else
        length += snprintf(text + length, sizeof text - (size_t)length, "- -\n");
    truth_say(text, length);
}

__attribute__((unused)) static void truth_end(void) {
    char text[64];
    truth_say(text, snprintf(text, sizeof text, "truth-end %d\n", (int)getpid()));
}

__attribute__((unused)) static void truth_print_rows(void) {
    static const char *const names[TRUTH_LAYERS] = {"native", "mapped-anonymous", "mapped-files"};
    if (truth_peak_pending) truth_take_peak();
    for (int layer = 0; layer < TRUTH_LAYERS; layer++)
        for (int line = 0; line < TRUTH_LINES; line++)
            if (truth_rows[layer][line].allocated.blocks != 0) truth_print_row(names[layer], line, &truth_rows[layer][line]);
}

__attribute__((unused)) static void truth_print(void) {
    truth_print_rows();
    truth_end();
}

__attribute__((unused)) static void truth_chain(int line, const char *functions) {
    char text[512];
    truth_say(text, snprintf(text, sizeof text, "chain %d %s %d %s\n", (int)getpid(), truth_file(), line, functions));
}

/* A condition that the program cannot go on without. */
#define NEED(condition)                                              \
    do {                                                             \
        if (!(condition)) {                                          \
            static const char text[] = "failed: " #condition "\n";   \
            (void)!write(STDERR_FILENO, text, sizeof text - 1);      \
            _exit(99);                                               \
        }                                                            \
    } while (0)
