/* Sections in C++: `section NAME KIND LINE BYTES BLOCKS`, as in sections.c. Scopes end sections, also by exceptions. */
#include <heaplens/heaplens.h>

#include <stdexcept>

#include "truth.h"

__attribute__((used)) static char *kept[8];
static int count;

static void say(const char *section, const char *kind, int line, long bytes) {
    char text[128];
    truth_say(text, snprintf(text, sizeof text, "section %s %s %d %ld 1\n", section, kind, line, bytes));
}

FRAME static void keep(char *block) { kept[count++] = block; }
FRAME static void lose(char *block) { ESCAPE(block); }

FRAME static void clear_stack() {
    volatile char words[8192];
    memset((void *)words, 0, sizeof words);
}

FRAME static void raises() {
    heaplens::LeakCheck section("raises");
    keep(new char[500]); say("raises", "held", __LINE__, 500);
    lose(new char[600]); say("raises", "definitely", __LINE__, 600);
    clear_stack();
    throw 1;
}

FRAME static void returns(int rounds) {
    for (int round = 0; round < rounds; round++) {
        heaplens::LeakCheck section("returns");
        delete[] new char[900];
        if (round == 0) continue;
        keep(new char[700]); say("returns", "held", __LINE__, 700);
        clear_stack();
    }
}

int main() {
    try {
        raises();
    } catch (int) {
        keep(new char[30]);
    }
    returns(3);
    clear_stack();
    truth_end();
}
