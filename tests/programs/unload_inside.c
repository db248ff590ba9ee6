/* Libraries that libc itself unloads, without a `dlclose` that anybody could see: gconv modules. Between their comings and
 * goings two libraries (the arguments) are loaded where a module was. The books of those are kept here. */
#include "truth.h"

#include <dlfcn.h>
#include <iconv.h>

typedef struct block take(long);

static const char *const charsets[] = {"UTF-16", "UTF-7", "ISO-2022-JP", "UTF-32", "EUC-KR", "BIG5", "SHIFT_JIS", "GB18030"};
enum { CHARSETS = sizeof charsets / sizeof *charsets, ROUNDS = 40 };

struct library {
    const char *path, *file, *symbol;
    struct truth_row row;
    int line;
};

static int opened;

FRAME static void convert(const char *charset) {
    iconv_t converter = iconv_open(charset, "UTF-8");
    if (converter == (iconv_t)-1) return;
    char in[] = "a text", out[256], *from = in, *to = out;
    size_t left = sizeof in, room = sizeof out;
    iconv(converter, &from, &left, &to, &room);
    iconv_close(converter);
    opened++;
}

FRAME static void *visit(struct library *library, int round) {
    void *handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
    NEED(handle != NULL);
    take *function = (take *)dlsym(handle, library->symbol);
    NEED(function != NULL);
    for (int i = 0; i < 10; i++) {
        struct block block = function(100 + round + i);
        library->line = block.line;
        truth_add(&library->row.allocated, block.bytes, 1);
        truth_add(&library->row.live, block.bytes, 1);
    }
    return handle;
}

static void print(const struct library *library) {
    char text[256];
    truth_say(text, snprintf(text, sizeof text, "truth %d native %s %d %ld %ld %ld %ld - -\n", (int)getpid(), library->file,
                             library->line, library->row.live.bytes, library->row.live.blocks,
                             library->row.allocated.bytes, library->row.allocated.blocks));
}

int main(int argc, char **argv) {
    NEED(argc == 3);
    struct library libraries[2] = {{argv[1], "plugin_first.c", "first_take", {{0, 0}, {0, 0}, {0, 0}}, 0},
                                   {argv[2], "plugin_second.c", "second_take", {{0, 0}, {0, 0}, {0, 0}}, 0}};
    void *held = NULL;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CHARSETS; i++) convert(charsets[(round + i) % CHARSETS]);
        /* Loaded first and unloaded later: between a silent unloading and this loading no dlclose reports it. */
        void *next = visit(&libraries[round % 2], round);
        if (held != NULL) NEED(dlclose(held) == 0);
        held = next;
    }
    print(&libraries[0]);
    print(&libraries[1]);
    char text[64];
    truth_say(text, snprintf(text, sizeof text, "note converters %d\n", opened));
    truth_end();
    return 0;
}
