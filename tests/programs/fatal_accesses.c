/* Accesses that end the program, one in each run, on a line that it says before:
 *
 *     fatal_accesses [CASE [thread]]
 *
 * Without a word it lists its cases; "handled" has a handler, and is to see the same access as alone. */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

struct node {
    struct node *next;
    int value;
};

static volatile int sink;
static const char constant[16] = "constant";
static void (*volatile nothing)(void);
/* No program has this address. */
static char *volatile wild = (char *)0x4847464544434241;

static void say(const char *kind, int line, const char *what) {
    printf("error %s 1 0 %d 0 0 %s\n", kind, line, what);
    fflush(stdout);
}

static __attribute__((noinline)) void read_null(struct node *node) {
    say("InvalidRead", __LINE__ + 1, "read through a null pointer");
    sink = node->value;
}

static __attribute__((noinline)) void write_null(struct node *node) {
    say("InvalidWrite", __LINE__ + 1, "write through a null pointer");
    node->value = 7;
}

static __attribute__((noinline)) void write_constant(char *text) {
    say("InvalidWrite", __LINE__ + 1, "invalid write");
    text[1] = 'X';
}

static __attribute__((noinline)) void read_wild(char *text) {
    say("InvalidRead", __LINE__ + 1, "invalid read");
    sink = *text;
}

static __attribute__((noinline)) void write_wild(char *text) {
    say("InvalidWrite", __LINE__ + 1, "invalid write");
    *text = 'X';
}

/* The C library's own code reads. */
static __attribute__((noinline)) void read_length(char *text) {
    say("InvalidRead", __LINE__ + 1, "invalid read");
    sink = (int)strlen(text);
}

static __attribute__((noinline)) void call_null(void) {
    say("InvalidJump", __LINE__ + 1, "call of a null pointer");
    nothing();
    sink = 1;
}

static __attribute__((noinline)) void call_data(void (*code)(void)) {
    say("InvalidJump", __LINE__ + 1, "jump to an address that has no code");
    code();
    sink = 1;
}

static __attribute__((noinline)) void read_unmapped(void) {
    char *pages = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages, 1 << 20);
    say("InvalidRead", __LINE__ + 1, "invalid read");
    sink = pages[5000];
}

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    _exit(info->si_addr == (void *)8 ? 3 : 4);
}

static __attribute__((noinline)) void handled(struct node *node) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    sink = node->value;
}

static const char *way;

static void *act(void *null) {
#define CASE(name, call) if (!way) puts(name); else if (strcmp(way, name) == 0) call
    CASE("read_null", read_null(null));
    CASE("write_null", write_null(null));
    CASE("write_constant", write_constant((char *)constant));
    CASE("read_wild", read_wild(wild));
    CASE("write_wild", write_wild(wild));
    CASE("read_length", read_length(wild));
    CASE("call_null", call_null());
    CASE("call_data", call_data((void (*)(void))(uintptr_t)constant));
    CASE("read_unmapped", read_unmapped());
    CASE("handled", handled(null));
    return null;
}

int main(int count, char **words) {
    pthread_t thread;
    way = count > 1 ? words[1] : NULL;
    if (count > 2) {
        pthread_create(&thread, NULL, act, NULL);
        pthread_join(thread, NULL);
    } else {
        act(NULL);
    }
    return 0;
}
