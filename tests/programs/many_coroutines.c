/* Coroutines by the thousand, each on a mapped stack with a guard page, all alive at once, all allocating in every turn. The
 * stacks go at the end of a round and come again at other addresses. Argument: how many. */
#include "truth.h"

#include <sys/mman.h>
#include <ucontext.h>

enum { TURNS = 4, ROUNDS = 2, STACK = 32768, PAGE = 4096 };

struct coroutine {
    ucontext_t context;
    char *stack;
};

static struct coroutine *coroutines;
static ucontext_t scheduler;

FRAME static void allocate(int self, int turn) {
    struct block kept = TAKE(malloc((size_t)(8 + self % 100)), 8 + self % 100);
    swapcontext(&coroutines[self].context, &scheduler);
    if (turn != 0) give(kept);
}

static void run(int self) {
    for (int turn = 0; turn < TURNS; turn++) allocate(self, turn);
}

static void begin(int self) {
    struct coroutine *coroutine = &coroutines[self];
    coroutine->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(coroutine->stack != MAP_FAILED && mprotect(coroutine->stack, PAGE, PROT_NONE) == 0);
    getcontext(&coroutine->context);
    coroutine->context.uc_stack.ss_sp = coroutine->stack + PAGE;
    coroutine->context.uc_stack.ss_size = STACK - PAGE;
    coroutine->context.uc_link = &scheduler;
    makecontext(&coroutine->context, (void (*)(void))run, 1, self);
}

int main(int argc, char **argv) {
    NEED(argc == 2);
    int count = atoi(argv[1]);
    coroutines = (struct coroutine *)TAKE(calloc((size_t)count, sizeof *coroutines), count * (long)sizeof *coroutines).at;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < count; i++) begin(i);
        for (int turn = 0; turn <= TURNS; turn++)
            for (int i = 0; i < count; i++) swapcontext(&scheduler, &coroutines[i].context);
        for (int i = 0; i < count; i++) NEED(munmap(coroutines[i].stack, STACK) == 0);
    }
    truth_print();
    return 0;
}
