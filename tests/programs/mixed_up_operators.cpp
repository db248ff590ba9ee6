// Blocks that come by one form and go by another: wrong in C++, harmless with glibc, and each block still ends once. Blocks of
// no bytes are blocks, too.
#include "truth.h"

#include <new>

#define GIVE(block, call) (truth_forget_block(block), call)

FRAME static void crossed() {
    for (int i = 0; i < 100; i++) {
        struct block array = TAKE(operator new[](i), i);
        GIVE(array, operator delete(array.at));
        struct block one = TAKE(operator new(i), i);
        GIVE(one, operator delete[](one.at));
        struct block sized = TAKE(operator new(i, std::nothrow), i);
        GIVE(sized, operator delete[](sized.at, (std::size_t)i));
        struct block freed = TAKE(operator new[](i, std::nothrow), i);
        GIVE(freed, free(freed.at));
        struct block plain = TAKE(malloc(i), i);
        GIVE(plain, operator delete(plain.at));
    }
}

FRAME static void left() {
    for (int i = 0; i < 10; i++) {
        TAKE(operator new(0), 0);
        TAKE(operator new[](0, std::nothrow), 0);
        TAKE(operator new(i * 1000), i * 1000);
    }
    operator delete(nullptr);
    operator delete[](nullptr);
}

int main() {
    crossed();
    left();
    truth_print();
    return 0;
}
