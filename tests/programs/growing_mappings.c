/* Memory that is mapped past the C library, a quarter of a MiB more with each iteration, written. One iteration is one mark.
 *
 *   raw ITERATIONS      by the system call itself, anonymous
 *   file ITERATIONS     the same of a file in memory that is called "frames"
 *   once ITERATIONS     16 MiB in the first iteration, then nothing
 *   libc ITERATIONS     by mmap, which is seen
 *
 * A third word is the least time of an iteration in milliseconds. With a fourth there are no marks: growth is reported per second.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, SIZE = MIB / 4 };

static void written(long at, long size) {
    if (at == -1) {
        perror("mmap");
        exit(1);
    }
    memset((void *)at, 1, size);
}

static void map(const char *mode, int pass, int file) {
    const int rights = PROT_READ | PROT_WRITE, anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    if (strcmp(mode, "raw") == 0) {
        written(syscall(SYS_mmap, NULL, SIZE, rights, anonymous, -1, 0), SIZE);
    } else if (strcmp(mode, "file") == 0) {
        if (ftruncate(file, (pass + 1L) * SIZE) != 0) exit(1);
        written(syscall(SYS_mmap, NULL, SIZE, rights, MAP_SHARED, file, (long)pass * SIZE), SIZE);
    } else if (strcmp(mode, "libc") == 0) {
        written((long)mmap(NULL, SIZE, rights, anonymous, -1, 0), SIZE); /* the line that maps */
    } else if (pass == 0) {
        written(syscall(SYS_mmap, NULL, 16 * MIB, rights, anonymous, -1, 0), 16 * MIB);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int count, char **words) {
    int passes = atoi(words[2]), file = memfd_create("frames", 0);
    double pace = atof(words[3]) / 1e3, begin = now();
    void (*mark)(const char *) = count > 4 ? NULL : (void (*)(const char *))dlsym(RTLD_DEFAULT, "heaplens_mark");
    for (int pass = 0; pass < passes; pass++) {
        if (mark) mark("pass");
        map(words[1], pass, file);
        while (now() < begin + pace * (pass + 1)) {
        }
    }
    printf("passes %d seconds %.3f\n", passes, now() - begin);
    return 0;
}
