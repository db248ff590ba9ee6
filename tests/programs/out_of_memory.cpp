// The address space is limited and used up: the new-handler makes room once, then operator new throws, and the nothrow form
// gives nothing. All of it counted, and the program goes on.
#include "truth.h"

#include <new>
#include <sys/resource.h>

enum { MOST = 4096, LARGE = 1 << 20 };
static struct block taken[MOST], reserve;
static int count, handled, caught;

static void make_room() {
    handled++;
    give(reserve);
    std::set_new_handler(nullptr);
}

FRAME static void limit() {
    struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
    NEED(setrlimit(RLIMIT_AS, &limit) == 0);
}

FRAME static void use_up() {
    for (; count < MOST; count++) {
        taken[count] = TAKE(malloc(LARGE), LARGE);
        if (taken[count].at == nullptr) break;
    }
    NEED(count > 4 && count < MOST);
}

FRAME static void give_back(int least) {
    while (count > least) {
        struct block block = taken[--count];
        truth_forget_block(block), operator delete[](block.at);
    }
}

/* Apart from the calls that succeed: the exception is a block, too, and belongs to the line that threw it. */
FRAME static void fail() {
    try {
        operator new[](LARGE);
    } catch (const std::bad_alloc &) {
        caught++;
    }
    NEED(operator new(LARGE, std::nothrow) == nullptr);
    NEED(operator new[](LARGE, std::nothrow) == nullptr);
}

FRAME static void go_on() {
    for (int i = 0; i < 200; i++) {
        struct block block = TAKE(operator new(i), i);
        if (i % 2) truth_forget_block(block), operator delete(block.at);
    }
}

int main() {
    limit();
    go_on();
    reserve = TAKE(malloc(8 << 20), 8 << 20);
    NEED(reserve.at != nullptr);
    std::set_new_handler(make_room);
    use_up();
    taken[count++] = TAKE(operator new[](LARGE), LARGE);
    NEED(handled == 1);
    use_up();
    fail();
    NEED(handled == 1 && caught == 1);
    give_back(2);
    taken[count++] = TAKE(operator new(LARGE, std::nothrow), LARGE);
    NEED(taken[2].at != nullptr);
    use_up();
    fail();
    NEED(handled == 1 && caught == 2);
    give_back(0);
    go_on();
    truth_print();
    return 0;
}
