/* Sections of leak checks, and what the program knows of each: `section NAME KIND LINE BYTES BLOCKS`, where KIND is `held` (something
 * leads to the blocks at the section's end), `definitely` or `indirectly` (lost by then). What is freed inside, and what was allocated
 * outside, is in none.
 *
 *   sections plain|nested|passes [COUNT]|threads|healthy|open|marks */
#include <heaplens/heaplens.h>
#include <pthread.h>

#include "truth.h"

enum { ROWS = 64 };
static struct row {
    const char *section, *kind;
    int line;
    long bytes, blocks;
} rows[ROWS];

static void say(const char *section, const char *kind, int line, long bytes) {
    struct row *row = rows;
    while (row->section != NULL && (row->line != line || row->section != section || row->kind != kind)) row++;
    NEED(row < rows + ROWS);
    *row = (struct row){section, kind, line, row->bytes + bytes, row->blocks + 1};
}

static void print(void) {
    char text[256];
    for (struct row *row = rows; row->section != NULL; row++)
        truth_say(text, snprintf(text, sizeof text, "section %s %s %d %ld %ld\n", row->section, row->kind, row->line, row->bytes, row->blocks));
    truth_end();
}

/* A block that stays, on the line of the macro, with what becomes of it. */
#define LEFT(section, kind, bytes) (say(section, kind, __LINE__, bytes), malloc(bytes))

static const char *const EVAL = "eval", *const INNER = "inner", *const OUTER = "outer", *const HELD = "held",
                         *const DEFINITELY = "definitely", *const INDIRECTLY = "indirectly";

__attribute__((used)) static void *kept[64];
static int count;

FRAME static void keep(void *block) { kept[count++] = block; }

FRAME static void lose(void *block) { ESCAPE(block); }

/* What functions left on the stack that have returned. */
FRAME static void clear_stack(void) {
    volatile char words[8192];
    memset((void *)words, 0, sizeof words);
}

/* The same line allocates outside and inside. */
enum { TAKE_LINE = __LINE__ + 2 };
FRAME static void *take(long bytes) {
    void *block = malloc(bytes);
    ESCAPE(block);
    return block;
}

FRAME static void work(const char *section) {
    keep(LEFT(section, HELD, 100));
    keep(LEFT(section, HELD, 300));
    lose(LEFT(section, DEFINITELY, 48));
    void **pair = LEFT(section, DEFINITELY, 64);
    pair[0] = LEFT(section, INDIRECTLY, 72);
    lose(pair);
    free(malloc(1000));
    free(take(40));
}

/* A block from before that the section frees, one that it frees and allocates again at the same address with the same stack, and one that
 * it makes larger, which is its own from then on. */
FRAME static void plain(void) {
    void *before = malloc(200), *again = take(500), *grows = malloc(64);
    keep(take(24));
    ESCAPE(before);
    ESCAPE(again);
    HEAPLENS_LEAK_CHECK_BEGIN("eval");
    work(EVAL);
    free(before);
    free(again);
    keep(take(500));
    say(EVAL, HELD, TAKE_LINE, 500);
    keep(realloc(grows, 5000)); say(EVAL, HELD, __LINE__, 5000);
    clear_stack();
    HEAPLENS_LEAK_CHECK_END("eval");
    keep(take(600));
}

FRAME static void inner(void) {
    HEAPLENS_LEAK_CHECK_BEGIN("inner");
    keep(LEFT(INNER, HELD, 130)); say(OUTER, HELD, __LINE__, 130);
    lose(LEFT(INNER, DEFINITELY, 140)); say(OUTER, DEFINITELY, __LINE__, 140);
    void *given_back_later = malloc(150); say(INNER, HELD, __LINE__, 150);
    keep(given_back_later);
    clear_stack();
    HEAPLENS_LEAK_CHECK_END("inner");
    free(kept[--count]);
    kept[count] = NULL;
}

FRAME static void nested(void) {
    HEAPLENS_LEAK_CHECK_BEGIN("outer");
    keep(LEFT(OUTER, HELD, 110));
    inner();
    keep(LEFT(OUTER, HELD, 120));
    clear_stack();
    HEAPLENS_LEAK_CHECK_END("outer");
    keep(malloc(7));
}

/* Each pass keeps a block and loses one. */
FRAME static void passes(int most) {
    for (int pass = 0; pass < most; pass++) {
        HEAPLENS_LEAK_CHECK_BEGIN("eval");
        keep(LEFT(EVAL, HELD, 256));
        lose(LEFT(EVAL, DEFINITELY, 80));
        free(take(1 << 16));
        clear_stack();
        HEAPLENS_LEAK_CHECK_END("eval");
        keep(take(32));
    }
}

static void *other_thread(void *unused) {
    keep(LEFT(EVAL, HELD, 90));
    lose(LEFT(EVAL, DEFINITELY, 96));
    return unused;
}

/* A thread runs inside of a section that it knows nothing of. */
FRAME static void threads(void) {
    pthread_t thread;
    HEAPLENS_LEAK_CHECK_BEGIN("eval");
    NEED(pthread_create(&thread, NULL, other_thread, NULL) == 0);
    NEED(pthread_join(thread, NULL) == 0);
    clear_stack();
    HEAPLENS_LEAK_CHECK_END("eval");
}

FRAME static void healthy(void) {
    HEAPLENS_LEAK_CHECK_BEGIN("eval");
    for (int i = 0; i < 100; i++) free(take(64 + i));
    void *local = malloc(333);
    ESCAPE(local);
    free(local);
    clear_stack();
    HEAPLENS_LEAK_CHECK_END("eval");
    keep(take(77));
}

FRAME static void marks(void) {
    keep(malloc(11));
    lose(malloc(12));
    HEAPLENS_MARK("warm");
    keep(LEFT(EVAL, HELD, 210));
    lose(LEFT(EVAL, DEFINITELY, 220));
    clear_stack();
    HEAPLENS_MARK("done");
    keep(malloc(13));
    lose(malloc(14));
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "plain") == 0) plain();
    if (strcmp(what, "nested") == 0) nested();
    if (strcmp(what, "passes") == 0) passes(argc > 2 ? atoi(argv[2]) : 4);
    if (strcmp(what, "threads") == 0) threads();
    if (strcmp(what, "healthy") == 0) healthy();
    if (strcmp(what, "marks") == 0) marks();
    if (strcmp(what, "open") == 0) {
        HEAPLENS_LEAK_CHECK_END("never begun");
        HEAPLENS_LEAK_CHECK_BEGIN("eval");
        work(EVAL);
    }
    clear_stack();
    print();
    return 0;
}
