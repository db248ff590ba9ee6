/* Allocates, says `ready PID SESSION`, waits until the fifo that is its argument is closed, allocates more, and leaves with
 * status 5. What happens to its recorder in between is none of its business. */
#include "truth.h"

#include <fcntl.h>

FRAME static void before(void) {
    for (int i = 0; i < 30; i++) TAKE(malloc(1000), 1000);
}

FRAME static void after(void) {
    for (int i = 0; i < 20; i++) TAKE(malloc(2000), 2000);
}

static void wait_for(const char *path) {
    char byte;
    int file = open(path, O_RDONLY);
    NEED(file >= 0);
    while (read(file, &byte, 1) > 0) {
    }
    close(file);
}

int main(int argc, char **argv) {
    char text[512];
    NEED(argc == 2);
    before();
    const char *session = getenv("HEAPLENS_DIR");
    truth_say(text, snprintf(text, sizeof text, "ready %d %s\n", (int)getpid(), session ? session : "-"));
    wait_for(argv[1]);
    after();
    truth_print();
    return 5;
}
