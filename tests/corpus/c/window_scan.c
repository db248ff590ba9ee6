// cause: mapping-moved-and-unmapped
// class: c
// report: https://man7.org/linux/man-pages/man2/mmap.2.html
// verdict: clean
// note: A window of 1 MiB moves over a file of 16 MiB; each window is unmapped before the next one is mapped.

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WINDOW (1024 * 1024)
#define WINDOWS 16

static int create_file(void) {
    char path[] = "/tmp/window_scan_XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    unlink(path);
    char *block = malloc(WINDOW);
    for (int w = 0; w < WINDOWS; w++) {
        memset(block, 'A' + w, WINDOW);
        if (write(fd, block, WINDOW) != WINDOW)
            return -1;
    }
    free(block);
    return fd;
}

static unsigned long scan(int fd, int window) {
    unsigned char *bytes = mmap(NULL, WINDOW, PROT_READ, MAP_SHARED, fd, (off_t)window * WINDOW);
    if (bytes == MAP_FAILED)
        abort();
    unsigned long sum = 0;
    for (int i = 0; i < WINDOW; i++)
        sum = sum * 17 + bytes[i];
    munmap(bytes, WINDOW);
    return sum;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 2000;
    int fd = create_file();
    if (fd < 0)
        return 1;
    unsigned long sum = 0;
    for (long i = 0; i < iterations; i++)
        sum ^= scan(fd, (int)(i % WINDOWS));
    close(fd);
    printf("%lu\n", sum);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
