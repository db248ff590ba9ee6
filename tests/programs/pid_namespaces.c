/* Two children in PID namespaces of their own at the same time: both are process 1 of theirs. Their truth is printed under
 * the number that this program knows them by. */
#include "truth.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { KEPT_AT = __LINE__ + 2 };
FRAME static void keep(int blocks, long bytes) {
    for (int i = 0; i < blocks; i++) TAKE(malloc((size_t)bytes), bytes);
}

static void wait_for_byte(int pipe_end) {
    char byte;
    NEED(read(pipe_end, &byte, 1) == 1);
}

/* Allocates, says that it has, and lives on until it is told to leave: the namespaces exist side by side. */
static pid_t start(long bytes, int *said, int *leave) {
    long pid = syscall(SYS_clone, SIGCHLD | CLONE_NEWPID, NULL, NULL, NULL, NULL);
    NEED(pid >= 0);
    if (pid > 0) return (pid_t)pid;
    NEED(getpid() == 1);
    keep(30, bytes);
    NEED(write(said[1], "x", 1) == 1);
    wait_for_byte(leave[0]);
    _exit(0);
}

static void print(pid_t pid, long bytes) {
    char text[256];
    truth_say(text, snprintf(text, sizeof text, "truth %d native pid_namespaces.c %d %ld 30 %ld 30 - -\ntruth-end %d\n", (int)pid,
                             KEPT_AT, 30 * bytes, 30 * bytes, (int)pid));
}

int main(void) {
    int said[2], leave[2], status;
    NEED(pipe(said) == 0 && pipe(leave) == 0);
    pid_t first = start(100, said, leave), second = start(3000, said, leave);
    wait_for_byte(said[0]);
    wait_for_byte(said[0]);
    NEED(write(leave[1], "xx", 2) == 2);
    NEED(waitpid(first, &status, 0) == first && status == 0);
    NEED(waitpid(second, &status, 0) == second && status == 0);
    print(first, 100);
    print(second, 3000);
    return 0;
}
