/* A thread whose first allocation is made by libc, under that thread's own lock: pthread_getattr_np holds it and calls realloc. */
#include "truth.h"

#include <pthread.h>

static void *body(void *unused) {
    pthread_attr_t attributes;
    NEED(pthread_getattr_np(pthread_self(), &attributes) == 0);
    pthread_attr_destroy(&attributes);
    TAKE(malloc(100), 100);
    return unused;
}

int main(void) {
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        NEED(pthread_create(&thread, NULL, body, NULL) == 0);
        NEED(pthread_join(thread, NULL) == 0);
    }
    truth_print();
    return 0;
}
