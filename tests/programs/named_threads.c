// Threads with names, each of which allocates at a line of its own: `thread NAME FUNCTION blocks bytes`, `-` where two threads with
// different names came one after the other. `shared` is a line that two of them use at once.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t all_there, may_end;
static void *kept[4096];
static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void keep(void *block) {
    pthread_mutex_lock(&lock);
    kept[count++] = block;
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void of_main(int n) {
    while (n--) keep(malloc(1000));
}

__attribute__((noinline)) static void of_loader(int n) {
    while (n--) keep(malloc(2000));
}

__attribute__((noinline)) static void of_worker(int n) {
    for (int i = 0; i < n; i++) keep(malloc(3000));
    // What is freed was this thread's, whoever frees it.
    for (int i = 0; i < 4; i++) free(malloc(3000));
}

__attribute__((noinline)) static void of_late(int n) {
    while (n--) keep(malloc(4000));
}

__attribute__((noinline)) static void of_turns(int n) {
    while (n--) keep(malloc(5000));
}

__attribute__((noinline)) static void shared(int n) {
    while (n--) keep(malloc(100));
}

static void *loader(void *nothing) {
    pthread_setname_np(pthread_self(), "loader");
    of_loader(7);
    shared(100);
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&may_end);
    return 0;
}

static void *worker(void *nothing) {
    pthread_setname_np(pthread_self(), "worker");
    of_worker(11);
    shared(100);
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&may_end);
    return 0;
}

// Takes its name when it has allocated, and never ends.
static void *late(void *nothing) {
    of_late(3);
    pthread_setname_np(pthread_self(), "late");
    pthread_barrier_wait(&all_there);
    for (;;) pause();
}

static void *turn(void *name) {
    pthread_setname_np(pthread_self(), name);
    of_turns(2);
    return 0;
}

int main(void) {
    pthread_t threads[3], next;
    pthread_barrier_init(&all_there, 0, 4);
    pthread_barrier_init(&may_end, 0, 3);
    of_main(5);
    pthread_create(&threads[0], 0, loader, 0);
    pthread_create(&threads[1], 0, worker, 0);
    pthread_create(&threads[2], 0, late, 0);
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < 2; i++) {
        pthread_create(&next, 0, turn, i ? "second" : "first");
        pthread_join(next, 0);
    }
    pthread_barrier_wait(&may_end);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    puts("thread main of_main 5 5000");
    puts("thread loader of_loader 7 14000");
    puts("thread worker of_worker 11 33000");
    puts("thread late of_late 3 12000");
    puts("thread - of_turns 4 20000");
    return 0;
}
