/* Touches 64 MiB and gives them back at once. */
#include <string.h>
#include <sys/mman.h>

int main(void) {
    size_t size = 64 << 20;
    char *block = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return 1;
    memset(block, 1, size);
    return munmap(block, size);
}
