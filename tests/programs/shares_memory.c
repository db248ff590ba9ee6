/* 64 MiB that a process writes and shares with a worker that it forks: both work for a while at the same time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SHARED = 64 << 20 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static int work(const char *block) {
    int sum = 0;
    char *volatile own = malloc(100);
    free(own);
    for (double begin = now(); now() < begin + 4;) {
        for (int at = 0; at < SHARED; at += 4096) sum += block[at];
    }
    return sum == 0;
}

int main(void) {
    char *block = malloc(SHARED);
    memset(block, 1, SHARED);
    pid_t worker = fork();
    int failed = work(block);
    if (worker == 0) return failed;
    int status = 1;
    if (waitpid(worker, &status, 0) != worker) return 1;
    printf("shared %d\n", SHARED);
    return failed + status;
}
