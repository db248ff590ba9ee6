/* How much stack each function of the allocator takes that is called on a coroutine's stack: one that was filled before, so that what was
 * used is seen afterwards. The first call of each comes from a line of its own, whose stack nobody has seen yet.
 *
 *     stack NAME BYTES            and status 0, if every call gave memory
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { SIZE = 256 << 10, FILLED = 0xa5 };
static char *stack;
static void *volatile block;

static void take(void *given) {
    if (!given || given == MAP_FAILED) _exit(1);
    block = given;
}
static void by_malloc(void) { take(malloc(100)); }
static void by_malloc_of_much(void) { take(malloc(1 << 20)); }
static void by_free(void) { free(block); }
static void by_calloc(void) { take(calloc(10, 10)); }
static void by_realloc(void) { take(realloc(block, 5000)); }
static void by_aligned_alloc(void) { take(aligned_alloc(64, 128)); }
static void by_posix_memalign(void) {
    void *given = NULL;
    if (posix_memalign(&given, 64, 100)) _exit(1);
    take(given);
}
static void by_mmap(void) { take(mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)); }
static void by_munmap(void) { munmap(block, 8192); }
static void by_strdup(void) { take(strdup("text")); }

static void on_stack(const char *name, void (*call)(void)) {
    static ucontext_t here, there;
    long free = 0;
    memset(stack, FILLED, SIZE);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = SIZE;
    there.uc_link = &here;
    makecontext(&there, call, 0);
    swapcontext(&here, &there);
    while (free < SIZE && (unsigned char)stack[free] == FILLED) free++;
    printf("stack %s %ld\n", name, SIZE - free);
}

int main(void) {
    /* Below what is measured lies memory of its own, so that a stack that is walked too far ends. */
    stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    on_stack("malloc", by_malloc);
    on_stack("free", by_free);
    on_stack("malloc_of_much", by_malloc_of_much);
    on_stack("free_of_much", by_free);
    on_stack("calloc", by_calloc);
    on_stack("realloc", by_realloc);
    on_stack("aligned_alloc", by_aligned_alloc);
    on_stack("posix_memalign", by_posix_memalign);
    on_stack("mmap", by_mmap);
    on_stack("munmap", by_munmap);
    on_stack("strdup", by_strdup);
    return 0;
}
