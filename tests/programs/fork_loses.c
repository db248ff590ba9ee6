/* A parent holds blocks, some of them through others, and forks. The child keeps blocks of its own through variables and through blocks that it inherited,
 * and loses others; it says
 *
 *     child PID
 *     lost BYTES BLOCKS
 *     kept BYTES BLOCKS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 300, LOST = 200, LOST_SIZE = 1000, KEPT_SIZE = 600 };

/* Blocks of the parent's; each is one pointer that the child fills in. */
struct slot {
    struct slot *next;
    char *volatile own;
};

static struct slot *slots;
static char *volatile own[SLOTS];

static char *make(size_t size) {
    char *block = malloc(size);
    memset(block, 1, size);
    return block;
}

static __attribute__((noinline)) void lose(void) {
    for (int index = 0; index < LOST; index++) make(LOST_SIZE);
}

static void be_the_child(void) {
    int index = 0, kept = 0;
    for (struct slot *slot = slots; slot; slot = slot->next, kept++) slot->own = make(KEPT_SIZE);
    for (; index < SLOTS; index++, kept++) own[index] = make(KEPT_SIZE);
    lose();
    printf("child %d\nlost %d %d\nkept %d %d\n", getpid(), LOST * LOST_SIZE, LOST, kept * KEPT_SIZE, kept);
    fflush(stdout);
    exit(0);
}

int main(void) {
    for (int index = 0; index < SLOTS; index++) {
        struct slot *slot = malloc(sizeof *slot);
        *slot = (struct slot){slots, NULL};
        slots = slot;
    }
    pid_t child = fork();
    if (child == 0) be_the_child();
    int status;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}
