/* Stacks larger than what was promised at the start: threads with a gibibyte each, and a first thread that raises its limit
 * while it runs and then needs ten times what it had. They allocate at every depth. */
#include "truth.h"

#include <pthread.h>
#include <sys/resource.h>

enum { FRAMES = 80, FRAME_BYTES = 1 << 20, THREAD_FRAMES = 900, THREADS = 4 };
static const size_t GIBIBYTE = 1u << 30;

FRAME static int descend(int depth) {
    char used[FRAME_BYTES];
    memset(used, depth, 64);
    char *keep = used;
    ESCAPE(keep);
    if (depth % 25 == 1) give(TAKE(malloc(100), 100));
    if (depth % 100 == 1) TAKE(malloc(40), 40);
    int below = depth > 1 ? descend(depth - 1) : 0;
    return below + keep[3];
}

FRAME static void *in_thread(void *argument) {
    (void)!descend(THREAD_FRAMES);
    return argument;
}

int main(void) {
    struct rlimit limit;
    NEED(getrlimit(RLIMIT_STACK, &limit) == 0);
    limit.rlim_cur = (rlim_t)(FRAMES + 8) * FRAME_BYTES;
    NEED(setrlimit(RLIMIT_STACK, &limit) == 0);
    (void)!descend(FRAMES);
    pthread_attr_t large;
    pthread_attr_init(&large);
    NEED(pthread_attr_setstacksize(&large, GIBIBYTE) == 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        NEED(pthread_create(&thread, &large, in_thread, NULL) == 0);
        pthread_join(thread, NULL);
    }
    truth_print();
    return 0;
}
