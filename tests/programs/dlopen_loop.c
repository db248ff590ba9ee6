/* Two libraries loaded and unloaded in turn. Arguments: their paths. The books are kept here, because theirs go with them.
 * The program says on a `note` line how often the second one came to the address of the first. */
#include "truth.h"

#include <dlfcn.h>

typedef struct block take(long);

struct library {
    const char *path, *file, *symbol;
    struct truth_row row;
    int line;
    void *address;
};

static void count(struct library *library, struct block block, int freed) {
    library->line = block.line;
    truth_add(&library->row.allocated, block.bytes, 1);
    if (freed)
        free(block.at);
    else
        truth_add(&library->row.live, block.bytes, 1);
}

FRAME static void visit(struct library *library, int round) {
    void *handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
    NEED(handle != NULL);
    take *function = (take *)dlsym(handle, library->symbol);
    NEED(function != NULL);
    library->address = (void *)function;
    for (int i = 0; i < 20; i++) count(library, function(round * 3 + i), i % 4 == 0);
    NEED(dlclose(handle) == 0);
}

static void print(struct library *library) {
    char text[256];
    truth_say(text, snprintf(text, sizeof text, "truth %d native %s %d %ld %ld %ld %ld - -\n", (int)getpid(), library->file,
                             library->line, library->row.live.bytes, library->row.live.blocks,
                             library->row.allocated.bytes, library->row.allocated.blocks));
}

int main(int argc, char **argv) {
    NEED(argc == 3);
    struct library first = {argv[1], "plugin_first.c", "first_take", {{0, 0}, {0, 0}, {0, 0}}, 0, NULL};
    struct library second = {argv[2], "plugin_second.c", "second_take", {{0, 0}, {0, 0}, {0, 0}}, 0, NULL};
    int same = 0;
    for (int round = 0; round < 50; round++) {
        visit(&first, round);
        visit(&second, round);
        same += first.address == second.address;
    }
    print(&first);
    print(&second);
    char text[64];
    truth_say(text, snprintf(text, sizeof text, "note same address %d\n", same));
    truth_end();
    return 0;
}
