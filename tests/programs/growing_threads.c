/* Threads that are started and stay. One iteration is one mark.
 *
 *   living ITERATIONS      one more with each iteration, all wait until the end
 *   unjoined ITERATIONS    one with each iteration that ends at once and is never joined: its stack stays mapped
 *   pool ITERATIONS        one with each of the first iterations, at most 12; then none
 *   joined ITERATIONS      one with each iteration, joined before the next
 *
 * A third word is the least time of an iteration in milliseconds. With a fourth there are no marks: growth is reported per second.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POOL = 12 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ended;
static int begun;

/* Touches some of its stack, says that it runs, and waits for the end where it shall stay. */
static void *work(void *stays) {
    char room[20000];
    memset(room, 1, sizeof room);
    pthread_mutex_lock(&lock);
    begun += room[sizeof room / 2];
    pthread_cond_broadcast(&changed);
    while (stays && !ended) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static pthread_t start(int number, int stays) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, stays ? &ended : NULL) != 0) { /* the line that starts them */
        perror("pthread_create");
        exit(1);
    }
    pthread_mutex_lock(&lock);
    while (begun < number) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return thread;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int count, char **words) {
    const char *mode = words[1];
    int passes = atoi(words[2]), started = 0;
    double pace = count > 3 ? atof(words[3]) / 1e3 : 0, begin = now();
    void (*mark)(const char *) = count > 4 ? NULL : (void (*)(const char *))dlsym(RTLD_DEFAULT, "heaplens_mark");
    for (int pass = 0; pass < passes; pass++) {
        if (mark) mark("pass");
        if (strcmp(mode, "pool") != 0 || started < POOL) {
            started++;
            pthread_t thread = start(started, strcmp(mode, "living") == 0 || strcmp(mode, "pool") == 0);
            if (strcmp(mode, "joined") == 0) pthread_join(thread, NULL);
        }
        while (now() < begin + pace * (pass + 1)) {
        }
    }
    printf("started %d seconds %.3f\n", started, now() - begin);
    pthread_mutex_lock(&lock);
    ended = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return 0;
}
