/* Coroutines that allocate on stacks of their own, mapped and malloced, and take turns in the middle of it. */
#include "truth.h"

#include <sys/mman.h>
#include <ucontext.h>

enum { COROUTINES = 6, TURNS = 500, STACK = 65536 };

static ucontext_t contexts[COROUTINES], scheduler;
static int done[COROUTINES];

FRAME static void inner(int self, int turn) {
    struct block kept = TAKE(malloc((size_t)(10 + turn % 90)), 10 + turn % 90);
    ESCAPE(kept.at);
    swapcontext(&contexts[self], &scheduler);
    if (turn % 5) give(kept);
}

FRAME static void middle(int self, int turn) {
    struct block around = TAKE(calloc(1, 64), 64);
    inner(self, turn);
    give(around);
}

static void run(int self) {
    for (int turn = 0; turn < TURNS; turn++) middle(self, turn);
    done[self] = 1;
}

static void *stack_of(int self) {
    if (self % 2) {
        struct block stack = TAKE(malloc(STACK), STACK);
        return stack.at;
    }
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(stack != MAP_FAILED);
    return stack;
}

int main(void) {
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stack_of(i);
        contexts[i].uc_stack.ss_size = STACK;
        contexts[i].uc_link = &scheduler;
        makecontext(&contexts[i], (void (*)(void))run, 1, i);
    }
    for (int left = COROUTINES; left > 0;)
        for (int i = 0; i < COROUTINES; i++)
            if (!done[i]) {
                swapcontext(&scheduler, &contexts[i]);
                left -= done[i];
            }
    truth_print();
    return 0;
}
