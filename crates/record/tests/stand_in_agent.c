/* Makes an arena that has nothing but a header: the process, its parent, when it began. The offsets come from the
   compiler's command line. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 16384 };

static void next_name(const char *directory, char *name, size_t size) {
    int execs = 0;
    do {
        snprintf(name, size, "%s/%d.%d.arena", directory, (int)getpid(), execs++);
    } while (access(name, F_OK) == 0);
}

static void fill(char *arena) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *(uint32_t *)(arena + PID) = (uint32_t)getpid();
    *(uint32_t *)(arena + PARENT) = (uint32_t)getppid();
    *(uint64_t *)(arena + START) = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    unsigned long long magic = MAGIC;
    memcpy(arena, &magic, 8);
}

/* The file gets its name when it is whole, so that a test that waits for the name need not wait for more. */
__attribute__((constructor)) static void begin(void) {
    const char *directory = getenv("HEAPLENS_DIR");
    if (!directory) return;
    char name[4096], draft[4200];
    next_name(directory, name, sizeof name);
    snprintf(draft, sizeof draft, "%s.draft", name);
    int file = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, SIZE) != 0) return;
    char *arena = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (arena == MAP_FAILED) return;
    fill(arena);
    rename(draft, name);
}
