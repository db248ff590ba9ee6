/* A timer whose handler allocates while the program is inside malloc and free, some twenty thousand times a second. That is
 * legal here: the program's own blocks never leave the thread's cache, the handler's are mappings of their own, so the two
 * never meet inside glibc. One pair in the handler is one row; a note says how many there were. Argument: handler runs. */
#include "truth.h"

#include <malloc.h>
#include <signal.h>
#include <sys/time.h>

enum { LARGE = 300000, SMALL = 64 };

static volatile long handled;
static long wanted;

FRAME static void in_handler(void) {
    give(TAKE(malloc(LARGE), LARGE));
}

static void every(long microseconds) {
    struct itimerval interval = {{0, microseconds}, {0, microseconds}};
    NEED(setitimer(ITIMER_REAL, &interval, NULL) == 0);
}

/* The handler itself ends the storm: on a busy machine the next signal may be there before the program has had a turn. */
static void on_alarm(int number) {
    (void)number;
    in_handler();
    if (++handled >= wanted) every(0);
}

FRAME static void pair(void) {
    give(TAKE(malloc(SMALL), SMALL));
}

int main(int argc, char **argv) {
    NEED(argc == 2);
    wanted = atol(argv[1]);
    NEED(mallopt(M_MMAP_THRESHOLD, LARGE / 2) == 1);
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    NEED(sigaction(SIGALRM, &action, NULL) == 0);
    pair(); /* the first one makes the thread's cache under a lock, for which a handler that comes then would wait for ever */
    every(50);
    while (handled < wanted) pair();
    char text[64];
    truth_say(text, snprintf(text, sizeof text, "note handled %ld\n", handled));
    truth_print();
    return 0;
}
