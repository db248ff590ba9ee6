/* Processes and threads that no library function made: a child by the bare system call, and threads by `clone` on stacks of
 * the program's own, which share the first thread's thread-local storage while it waits. */
#include "truth.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { STACK = 1 << 18, ROUNDS = 20 };

FRAME static void allocate(int blocks, long bytes) {
    for (int i = 0; i < blocks; i++) {
        struct block block = TAKE(malloc((size_t)bytes), bytes);
        if (i % 2) give(block);
    }
}

static void child_process(void) {
    long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    NEED(pid >= 0);
    if (pid == 0) {
        truth_begin_child();
        allocate(41, 100);
        truth_print();
        _exit(0);
    }
    int status;
    NEED(waitpid((pid_t)pid, &status, 0) == pid && status == 0);
}

static int in_thread(void *argument) {
    allocate(31, (long)argument);
    return 0;
}

static void child_thread(long bytes) {
    static int ended;
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(stack != MAP_FAILED);
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID |
                CLONE_PARENT_SETTID;
    __atomic_store_n(&ended, 1, __ATOMIC_SEQ_CST);
    NEED(clone(in_thread, stack + STACK, flags, (void *)bytes, &ended, NULL, &ended) > 0);
    for (int seen; (seen = __atomic_load_n(&ended, __ATOMIC_SEQ_CST)) != 0;) syscall(SYS_futex, &ended, FUTEX_WAIT, seen, NULL, NULL, 0);
    NEED(munmap(stack, STACK) == 0);
}

int main(void) {
    allocate(5, 50);
    for (int round = 0; round < ROUNDS; round++) {
        child_process();
        child_thread(200 + round);
    }
    truth_print();
    return 0;
}
