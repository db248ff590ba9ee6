/* Forks while sixteen threads allocate: at the moment of a fork some of them are always inside malloc or free. Each child
 * allocates, frees a block that it inherited, prints its truth and leaves. Argument: how many children. */
#include "truth.h"

#include <pthread.h>
#include <sys/wait.h>

enum { THREADS = 16, SHELF = 64, EVENTS = 400 };

/* A round: all begin together, each thread has its events, the first thread forks among them. */
static pthread_barrier_t round_begins;
static int rounds;

FRAME static struct block threads_own(long bytes) {
    return TAKE(malloc((size_t)bytes), bytes);
}

FRAME static struct block childs_own(long bytes) {
    return TAKE(malloc((size_t)bytes), bytes);
}

static void *work(void *argument) {
    struct block shelf[SHELF] = {{NULL, 0, 0}};
    unsigned random = 31u + (unsigned)(long)argument;
    for (int event = 0; event < rounds * EVENTS; event++) {
        if (event % EVENTS == 0) pthread_barrier_wait(&round_begins);
        random = random * 1664525u + 1013904223u;
        struct block *block = &shelf[random >> 8 & (SHELF - 1)];
        if (block->at != NULL) give(*block);
        *block = threads_own(1 + (random >> 16) % 3000);
    }
    return NULL;
}

static void child(int number, struct block inherited) {
    truth_begin_child();
    free(inherited.at);
    for (int i = 0; i < 200; i++) {
        struct block block = childs_own(10 + (number + i * 13) % 700);
        if (i % 3) give(block);
    }
    truth_print();
    _exit(0);
}

int main(int argc, char **argv) {
    NEED(argc == 2);
    pthread_t threads[THREADS];
    rounds = atoi(argv[1]);
    pthread_barrier_init(&round_begins, NULL, THREADS + 1);
    for (long i = 0; i < THREADS; i++) NEED(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int number = 0; number < rounds; number++) {
        pthread_barrier_wait(&round_begins);
        struct block mine = threads_own(500);
        pid_t pid = fork();
        NEED(pid >= 0);
        if (pid == 0) child(number, mine);
        int status;
        NEED(waitpid(pid, &status, 0) == pid && status == 0);
        give(mine);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    truth_print();
    return 0;
}
