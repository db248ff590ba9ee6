/* Mappings that the program makes itself: whole, cut in pieces, grown, moved, of files; and the program break. One row per mmap line;
 * what is left of a mapping belongs to the line that made it. */
#include "truth.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static char *need(void *at) {
    NEED(at != MAP_FAILED);
    return at;
}

static void set_live(enum truth_layer layer, int line, long pages) {
    truth_rows[layer][line].live.bytes += pages * PAGE;
    truth_rows[layer][line].allocated.blocks = 1;
}

FRAME static void anonymous(void) {
    const int how = MAP_PRIVATE | MAP_ANONYMOUS, rights = PROT_READ | PROT_WRITE;
    char *whole = need(mmap(NULL, 16 * PAGE, rights, how, -1, 0)); set_live(TRUTH_ANONYMOUS, __LINE__, 16);
    ESCAPE(whole);
    char *gone = need(mmap(NULL, 8 * PAGE, rights, how, -1, 0)); set_live(TRUTH_ANONYMOUS, __LINE__, 0);
    NEED(munmap(gone, 8 * PAGE) == 0);
    char *head = need(mmap(NULL, 8 * PAGE, rights, how, -1, 0)); set_live(TRUTH_ANONYMOUS, __LINE__, 6);
    NEED(munmap(head, 2 * PAGE) == 0);
    char *tail = need(mmap(NULL, 8 * PAGE, rights, how, -1, 0)); set_live(TRUTH_ANONYMOUS, __LINE__, 5);
    NEED(munmap(tail + 5 * PAGE, 3 * PAGE) == 0);
    char *hole = need(mmap(NULL, 12 * PAGE, rights, how, -1, 0)); set_live(TRUTH_ANONYMOUS, __LINE__, 9);
    NEED(munmap(hole + 4 * PAGE, 3 * PAGE) == 0);
    char *under = need(mmap(NULL, 10 * PAGE, rights, how, -1, 0)); set_live(TRUTH_ANONYMOUS, __LINE__, 6);
    need(mmap(under, 4 * PAGE, rights, how | MAP_FIXED, -1, 0)); set_live(TRUTH_ANONYMOUS, __LINE__, 4);
}

/* A mapping that is resized or moved stays with the line that made it. */
FRAME static void moved(void) {
    const int how = MAP_PRIVATE | MAP_ANONYMOUS, rights = PROT_READ | PROT_WRITE;
    char *grown = need(mmap(NULL, 4 * PAGE, rights, how, -1, 0)); set_live(TRUTH_ANONYMOUS, __LINE__, 40);
    need(mremap(grown, 4 * PAGE, 40 * PAGE, MREMAP_MAYMOVE));
    char *shrunk = need(mmap(NULL, 9 * PAGE, rights, how, -1, 0)); set_live(TRUTH_ANONYMOUS, __LINE__, 3);
    need(mremap(shrunk, 9 * PAGE, 3 * PAGE, 0));
    char *goal = need(mmap(NULL, 20 * PAGE, rights, how, -1, 0)); set_live(TRUTH_ANONYMOUS, __LINE__, 15);
    char *mover = need(mmap(NULL, 5 * PAGE, rights, how, -1, 0)); set_live(TRUTH_ANONYMOUS, __LINE__, 5);
    need(mremap(mover, 5 * PAGE, 5 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, goal));
}

FRAME static void files(const char *path) {
    int file = open(path, O_RDONLY);
    NEED(file >= 0);
    need(mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE, file, 0)); set_live(TRUTH_FILE, __LINE__, 3);
    char *part = need(mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, file, 0)); set_live(TRUTH_FILE, __LINE__, 3);
    NEED(munmap(part, PAGE) == 0);
    close(file);
}

/* The program break belongs to the program as well as to its allocator. */
FRAME static void grown_break(void) {
    need(sbrk(5 * PAGE)); set_live(TRUTH_ANONYMOUS, __LINE__, 5);
    need(sbrk(2 * PAGE)); set_live(TRUTH_ANONYMOUS, __LINE__, 2);
    need(sbrk(0));
}

int main(int argc, char **argv) {
    (void)argc;
    anonymous();
    moved();
    files(argv[0]);
    grown_break();
    truth_print();
    return 0;
}
