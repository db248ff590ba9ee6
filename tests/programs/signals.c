/* Handlers that allocate while the program does not: on the thread's own stack and on a sigaltstack. */
#include "truth.h"

#include <signal.h>

static struct block kept[64];
static int count;

FRAME static void remember(long bytes) {
    kept[count++] = TAKE(malloc((size_t)bytes), bytes);
}

static void on_signal(int number) {
    remember(number == SIGUSR1 ? 100 : 200);
    give(TAKE(malloc(10), 10));
}

FRAME static void raise_both(void) {
    raise(SIGUSR1);
    raise(SIGUSR2);
}

int main(void) {
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    NEED(sigaltstack(&alternate, NULL) == 0);
    struct sigaction plain = {.sa_handler = on_signal};
    struct sigaction other = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    NEED(sigaction(SIGUSR1, &plain, NULL) == 0 && sigaction(SIGUSR2, &other, NULL) == 0);
    for (int i = 0; i < 20; i++) raise_both();
    for (int i = 0; i < 10; i++) give(kept[i]);
    truth_print();
    return 0;
}
