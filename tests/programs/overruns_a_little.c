/* Writes behind a small block, into what the allocator keeps there, and goes on: glibc does not notice, since the block goes into a per-thread
 * cache. Whoever watches the program must not change that. */
#include "truth.h"

FRAME static void overrun(char *block) {
    memset(block, 'C', 99);
    __asm__ volatile("" : : "r"(block) : "memory");
}

int main(void) {
    write(1, "begins\n", 7);
    char *block = malloc(50);
    ESCAPE(block);
    overrun(block);
    free(block);
    write(1, "goes on\n", 8);
    _exit(3);
}
