// Exceptions thrown through frames that allocated; bad_alloc from an absurd size; a new_handler that makes room.
#include "truth.h"

#include <cstdint>
#include <new>
#include <stdexcept>

static struct block reserve;
static int handled;

FRAME static void thrower(int depth) {
    struct block block = TAKE(malloc(10 + depth), 10 + depth);
    ESCAPE(block.at);
    if (depth == 0) throw depth;
    try {
        thrower(depth - 1);
    } catch (...) {
        if (depth % 2) give(block);
        throw;
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
    NEED(operator new[](size, std::nothrow) == nullptr);
}

static void make_room() {
    handled++;
    give(reserve);
    std::set_new_handler(nullptr);
}

FRAME static void with_handler() {
    size_t size = SIZE_MAX / 4;
    ESCAPE(size);
    reserve = TAKE(malloc(4321), 4321);
    std::set_new_handler(make_room);
    try {
        TAKE(operator new(size), size);
    } catch (const std::bad_alloc &) {
        handled += 10;
    }
    NEED(handled == 11);
}

int main() {
    for (int i = 0; i < 200; i++) try {
            thrower(i % 13);
        } catch (int) {
            TAKE(malloc(5), 5);
        }
    absurd();
    with_handler();
    truth_print();
    return 0;
}
