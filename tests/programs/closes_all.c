/* A daemon's habit: close every descriptor that one did not open. Whoever had one open inside the program loses it, and the
 * next file that the program opens (its argument) gets the same number. Nobody but the program may write to that file. */
#include "truth.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { BLOCKS = 300000 };

FRAME static void fill(void) {
    for (int i = 0; i < BLOCKS; i++) TAKE(malloc((size_t)(40 + i % 50)), 40 + i % 50);
}

int main(int argc, char **argv) {
    NEED(argc == 2);
    for (int file = 3; file < 1024; file++) close(file);
    for (int file = 3; file < 20; file++) NEED(open(argv[1], O_RDWR | O_CREAT, 0600) >= 0);
    fill();
    struct stat about;
    NEED(stat(argv[1], &about) == 0 && about.st_size == 0 && about.st_blocks == 0);
    truth_print();
    return 0;
}
