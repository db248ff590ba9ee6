/* Threads with the smallest stacks that the system gives, and allocation at the end of what they have left. */
#include "truth.h"

#include <limits.h>
#include <pthread.h>

FRAME static void *life(void *argument) {
    char used[8192];
    memset(used, 1, sizeof used);
    char *keep = used;
    ESCAPE(keep);
    for (int i = 0; i < 100; i++) give(TAKE(malloc(300), 300));
    TAKE(calloc(3, 100), 300);
    return argument;
}

int main(void) {
    pthread_attr_t smallest;
    pthread_attr_init(&smallest);
    NEED(pthread_attr_setstacksize(&smallest, PTHREAD_STACK_MIN) == 0);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        NEED(pthread_create(&thread, &smallest, life, NULL) == 0);
        pthread_join(thread, NULL);
    }
    truth_print();
    return 0;
}
