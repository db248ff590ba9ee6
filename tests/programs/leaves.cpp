// Makes holes in its heap, marks some iterations, and exits as its word says. Handlers and destructors say in what order they run.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <csignal>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *text) { (void)!write(1, text, strlen(text)); }

struct Global {
    ~Global() { say("global destructor\n"); }
};
static Global global;

static void local_static() {
    struct Local {
        ~Local() { say("local destructor\n"); }
    };
    static Local local;
}

static void handler() { say("handler\n"); }
static void again() { say("exit again\n"); exit(9); }

enum { BLOCKS = 4000, LARGE = 8000 };
static void *blocks[BLOCKS];

static void live() {
    for (int i = 0; i < BLOCKS; i++) {
        int size = i % 2 ? 24 : LARGE;
        blocks[i] = memset(malloc(size), 1, size);
    }
    for (int i = 0; i < BLOCKS; i += 2) free(blocks[i]);
    void (*mark)(const char *) = nullptr;
    *reinterpret_cast<void **>(&mark) = dlsym(RTLD_DEFAULT, "heaplens_mark");
    for (int i = 0; i < 25 && mark; i++) // enough to judge it by
        mark("iteration");
}

static void on_signal(int) { exit(5); }
static void *exits(void *) { exit(4); }

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    auto is = [way](const char *name) { return strcmp(way, name) == 0; };
    local_static();
    atexit(handler);
    live();
    say("leaves\n");
    if (is("exit")) exit(3);
    if (is("thread")) {
        pthread_t thread;
        pthread_create(&thread, nullptr, exits, nullptr);
        pthread_join(thread, nullptr);
    }
    if (is("signal")) {
        signal(SIGUSR1, on_signal);
        raise(SIGUSR1);
    }
    if (is("twice")) {
        atexit(again);
        exit(6);
    }
    if (is("_exit")) _exit(7);
    if (is("quick")) quick_exit(8);
    if (is("pthread_exit")) pthread_exit(nullptr);
    if (is("throw")) throw 1;
    if (is("fork")) {
        pid_t child = fork();
        if (child == 0) {
            free(malloc(100));
            exit(12);
        }
        int status = 0;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    }
    if (is("vfork")) {
        pid_t child = vfork();
        if (child == 0) _exit(13);
        int status = 0;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    }
    return 2;
}
