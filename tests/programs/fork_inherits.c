/* A parent with 40 MiB in blocks and 24 MiB mapped forks. The child writes to all of it, so that no page of it stays shared, takes
 * 12 MiB in blocks of its own, and says
 *
 *     child PID
 *     ledger inherited BYTES
 *     ledger own BYTES
 *     ledger resident BYTES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 10000, SIZE = 4096, OWN = 3000, MAPPED = 24 << 20 };

static char *blocks[BLOCKS], *own[OWN];

static void fill(char **list, int count) {
    for (int index = 0; index < count; index++) {
        list[index] = malloc(SIZE);
        memset(list[index], 1, SIZE);
    }
}

static long resident(void) {
    long all, pages;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &all, &pages) != 2) abort();
    fclose(file);
    return pages * 4096;
}

static void be_the_child(char *mapped) {
    memset(mapped, 2, MAPPED);
    for (int index = 0; index < BLOCKS; index++) memset(blocks[index], 2, SIZE);
    fill(own, OWN);
    printf("child %d\nledger inherited %d\nledger own %d\n", getpid(), BLOCKS * SIZE + MAPPED, OWN * SIZE);
    printf("ledger resident %ld\n", resident());
    fflush(stdout);
    exit(0);
}

int main(void) {
    char *mapped = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(mapped, 1, MAPPED);
    fill(blocks, BLOCKS);
    pid_t child = fork();
    if (child == 0) be_the_child(mapped);
    int status;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}
