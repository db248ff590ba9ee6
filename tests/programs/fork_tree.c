/* A tree of forks, three generations of two. Every process allocates its own blocks, frees what it inherited (which is no
 * business of its own books, nor of its parent's), and prints its own truth. */
#include "truth.h"

#include <sys/wait.h>

enum { GENERATIONS = 3, CHILDREN = 2, INHERITED = 40 };

static struct block inherited[INHERITED];

FRAME static struct block own(long bytes) {
    return TAKE(malloc((size_t)bytes), bytes);
}

FRAME static struct block late(long bytes) {
    return TAKE(calloc(1, (size_t)bytes), bytes);
}

/* As long as these blocks are this process's own, their rows count; in a child they are nobody's. */
static void child_frees_what_it_inherited(void) {
    truth_begin_child();
    for (int i = 0; i < INHERITED; i++) free(inherited[i].at);
}

static void live(int generation, int number) {
    for (int i = 0; i < INHERITED; i++) inherited[i] = own(64 + 16 * generation + i);
    if (generation < GENERATIONS)
        for (int child = 0; child < CHILDREN; child++) {
            pid_t pid = fork();
            NEED(pid >= 0);
            if (pid == 0) {
                child_frees_what_it_inherited();
                live(generation + 1, child);
                _exit(0);
            }
            int status;
            NEED(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
    for (int i = 0; i < 10 + number; i++) late(1000 + i);
    give(inherited[0]);
    truth_print();
}

int main(void) {
    live(1, 0);
    return 0;
}
