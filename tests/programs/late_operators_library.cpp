// The C++ of late_operators.c.
#include "truth.h"

#include <cstdint>
#include <new>

/* The first call of each form makes the dynamic linker look up the library's operators, which allocates. */
FRAME static void first_calls() {
    operator delete(operator new(1));
    operator delete[](operator new[](1));
    operator delete(operator new(1, std::nothrow));
}

FRAME static void pairs() {
    for (int i = 0; i < 500; i++) {
        struct block block = TAKE(operator new(i), i);
        truth_forget_block(block), operator delete(block.at);
        block = TAKE(operator new[](i), i);
        if (i % 3) truth_forget_block(block), operator delete[](block.at, (std::size_t)i);
    }
}

FRAME static void absurd() {
    size_t size = SIZE_MAX / 4;
    ESCAPE(size);
    bool caught = false;
    try {
        TAKE(operator new(size), size);
    } catch (const std::bad_alloc &) {
        caught = true;
    }
    NEED(caught);
    NEED(operator new(size, std::nothrow) == nullptr);
}

extern "C" int late_work() {
    first_calls();
    pairs();
    absurd();
    truth_print();
    return 12;
}
