// Before main and after it: constructors, global destructors, atexit handlers. The last of them prints the truth.
// With the argument `_exit` the program leaves through _exit, with everything before main and in main live.
#include "truth.h"

FRAME static struct block early(long bytes) {
    return TAKE(malloc(bytes), bytes);
}

static struct block from_constructor;

// Runs before every other handler was registered, so its own handler runs last.
__attribute__((constructor(101))) static void first() {
    atexit(truth_print);
    from_constructor = early(1111);
}

struct Global {
    struct block block;
    Global() {
        block = TAKE(operator new(222), 222);
    }
    ~Global() {
        truth_forget_block(block);
        operator delete(block.at);
        TAKE(malloc(333), 333);
    }
};

static Global global;

static void at_end() {
    for (int i = 0; i < 5; i++) TAKE(malloc(444), 444);
    give(from_constructor);
}

int main(int argc, char **) {
    atexit(at_end);
    TAKE(malloc(555), 555);
    if (argc > 1) {
        truth_print();
        _exit(7);
    }
    return 3;
}
