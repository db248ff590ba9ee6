/* A coroutine whose stack ends where a block begins that the C library mapped for itself. It frees the block, and the coroutine goes on and
 * allocates: whoever walks its stack by what was mapped before walks into nothing.
 *
 *     adjacent, alive            and status 0; 2: no such place was found
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK = 64 << 10, BLOCK = 1 << 20, PAGE = 4096, TRIES = 50 };

static void *main_stack, *own_stack;
static void *volatile kept[8];
static int count;

/* Keeps the registers that a function must keep, and goes on with another stack. */
void go_on(void **keep, void *with);
__asm__(".text\n.globl go_on\ngo_on:\n push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
        " mov %rsp, (%rdi)\n mov %rsi, %rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n");

/* Ends right before `never` begins, in which no call was made: so the code before the return address is this function's, and a walk goes on
 * above the stack. Built with -falign-functions=1 -fno-toplevel-reorder. */
__attribute__((noinline)) int before(int number) {
    volatile int numbers[4] = {number};
    return numbers[number & 3];
}

__attribute__((noinline)) void never(void) { abort(); }

__attribute__((noinline)) static void first(void) {
    kept[count++] = malloc(100);
    __asm__ volatile("");
}

__attribute__((noinline)) static void second(void) {
    kept[count++] = malloc(200);
    __asm__ volatile("");
}

__attribute__((noinline)) static void body(void) {
    for (;;) {
        first();
        go_on(&own_stack, main_stack);
        second();
        go_on(&own_stack, main_stack);
    }
}

int main(void) {
    char *block = NULL, *stack = MAP_FAILED;
    for (int at = 0; at < TRIES && stack == MAP_FAILED; at++) {
        block = malloc(BLOCK);
        memset(block, 1, BLOCK);
        char *begins = (char *)((uintptr_t)block & ~(uintptr_t)(PAGE - 1));
        stack = mmap(begins - STACK, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    }
    if (stack == MAP_FAILED) return 2;
    puts("adjacent");
    fflush(stdout);
    void **top = (void **)(stack + STACK);
    *--top = (void *)never;
    *--top = (void *)body;
    for (int i = 0; i < 6; i++) *--top = NULL;
    own_stack = top;
    go_on(&main_stack, own_stack);
    go_on(&main_stack, own_stack);
    free(block);
    go_on(&main_stack, own_stack);
    puts(before(1) == 0 ? "alive" : "wrong");
    return 0;
}
