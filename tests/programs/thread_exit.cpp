// Allocation while a thread ends: in destructors of thread_local objects and of pthread keys, which call each other back
// up to PTHREAD_DESTRUCTOR_ITERATIONS times.
#include "truth.h"

#include <pthread.h>

static pthread_key_t key;
static __thread long visits;

FRAME static struct block in_key_destructor(long bytes) {
    return TAKE(malloc(bytes), bytes);
}

FRAME static struct block in_local_destructor(long bytes) {
    return TAKE(malloc(bytes), bytes);
}

struct Local {
    struct block block;
    ~Local() {
        give(block);
        in_local_destructor(77);
    }
};

static thread_local Local local;

extern "C" void at_key_end(void *value) {
    in_key_destructor(11);
    if (++visits < 3) pthread_setspecific(key, value);
}

FRAME static void *life(void *) {
    // The first touch registers the destructor, and libc allocates for that: not on the line of the row.
    Local *own = &local;
    ESCAPE(own);
    own->block = TAKE(malloc(500), 500);
    pthread_setspecific(key, &key);
    return nullptr;
}

int main() {
    NEED(pthread_key_create(&key, at_key_end) == 0);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        NEED(pthread_create(&thread, nullptr, life, nullptr) == 0);
        pthread_join(thread, nullptr);
    }
    truth_print();
    return 0;
}
