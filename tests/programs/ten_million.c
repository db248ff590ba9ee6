/* Ten million live blocks of the sizes of small nodes, from three lines; every tenth is freed again. The books are kept in
 * counters, since a table of ten million addresses would be half of the program. Argument: how many. */
#include "truth.h"

struct node {
    struct node *next;
};

static struct node *kept;

FRAME static struct block one(long number) {
    long bytes = 16 + number % 4 * 8;
    switch (number % 3) {
    case 0: return TAKE(malloc((size_t)bytes), bytes);
    case 1: return TAKE(calloc(1, (size_t)bytes), bytes);
    default: return TAKE(realloc(NULL, (size_t)bytes), bytes);
    }
}

int main(int argc, char **argv) {
    NEED(argc == 2);
    long count = atol(argv[1]);
    for (long i = 0; i < count; i++) {
        struct block block = one(i);
        NEED(block.at != NULL);
        if (i % 10 == 9) {
            give(block);
            continue;
        }
        struct node *node = (struct node *)block.at;
        node->next = kept;
        kept = node;
    }
    truth_print();
    return 0;
}
