/* Loses a block, holds another in a local variable alone, and ends as its first word says. With `fork` as the first word a child does all that.
 * Before, it says what each of its blocks is and what it is told of its signals:
 *
 *     leak KIND BYTES BLOCKS LINE
 *     signal NUMBER HANDLER FLAGS
 */
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#undef NDEBUG

static volatile int zero;
static sigjmp_buf back;
static char alternate_stack[64 << 10];
static pthread_barrier_t together;

static __attribute__((noinline)) void lose(void) {
    char *volatile block = malloc(104);
    block[0] = 1;
    block = NULL;
    printf("leak definitely 104 1 %d\n", __LINE__ - 3);
}

static __attribute__((noinline)) void wipe_stack(void) {
    char old[8 << 10];
    memset(old, 0, sizeof old);
    __asm__ volatile("" : : "r"(old) : "memory");
}

static void say_signals(void) {
    for (int number = 1; number < 32; number++) {
        struct sigaction now;
        if (sigaction(number, NULL, &now) == 0)
            printf("signal %d %p %x\n", number, (void *)now.sa_handler, (unsigned)now.sa_flags);
    }
    void (*before)(int) = signal(SIGTERM, SIG_IGN);
    void (*ignored)(int) = signal(SIGTERM, SIG_DFL);
    void (*after)(int) = signal(SIGTERM, SIG_DFL);
    printf("SIGTERM %p %p %p\n", (void *)before, (void *)ignored, (void *)after);
    fflush(stdout);
}

static __attribute__((noinline)) void crash(void) { *(volatile int *)8 = 1; }
static void *crash_together(void *unused) {
    pthread_barrier_wait(&together);
    crash();
    return unused;
}
static void *exits(void *leader) {
    pthread_join(*(pthread_t *)leader, NULL);
    exit(4);
}
static void *ends(void *leader) {
    pthread_join(*(pthread_t *)leader, NULL);
    return NULL;
}
static __attribute__((noinline)) int overflow(volatile char *above) {
    volatile char frame[4096];
    frame[0] = above[0];
    return overflow(frame) + frame[0];
}

static void exit_at_once(int number) { _exit(40 + number); }
static void die_of_it(int number) { signal(number, SIG_DFL); raise(number); }
static void raise_again(int number) { raise(number); }
static void go_back(int number) { (void)number; siglongjmp(back, 1); }
static void do_nothing(int number) { (void)number; }

static void handle(int number, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(number, &action, NULL);
}

static void use_alternate_stack(void) {
    stack_t stack = {.ss_sp = alternate_stack, .ss_size = sizeof alternate_stack};
    sigaltstack(&stack, NULL);
}

static void leave_by(void *(*last)(void *)) {
    static pthread_t leader, other;
    leader = pthread_self();
    pthread_create(&other, NULL, last, &leader);
    pthread_exit(NULL);
}

/* The signal may come in the middle of malloc, which then has pointers to the chunks around: not to the block that is lost. And it may come
 * while a block of the loop is there, or is not: it is one that libc allocates, of which the test asks nothing. */
static void allocate_until_killed(void) {
    static char *volatile apart;
    apart = malloc(312);
    printf("leak still_reachable 312 1 %d\n", __LINE__ - 1);
    struct itimerval timer = {.it_value = {.tv_usec = 20000}};
    setitimer(ITIMER_REAL, &timer, NULL);
    const char *volatile text = "a text that is copied until the signal comes";
    for (;;) {
        char *volatile block = strdup(text);
        free(block);
    }
}

static int end(const char *way) {
#define WAY(name) if (strcmp(way, name) == 0)
    WAY("return") return 3;
    WAY("exit") exit(3);
    WAY("_exit") _exit(3);
    WAY("_Exit") _Exit(3);
    WAY("quick_exit") quick_exit(3);
    WAY("syscall") syscall(SYS_exit_group, 3);
    WAY("raw") __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(3));
    WAY("kill") kill(getpid(), SIGKILL);
    WAY("abort") abort();
    WAY("assert") assert(!"this fails");
    WAY("term") kill(getpid(), SIGTERM);
    WAY("usr1") raise(SIGUSR1);
    WAY("segv") crash();
    WAY("fpe") return 10 / zero;
    WAY("ill") __builtin_trap();
    WAY("trap") __asm__ volatile("int3");
    WAY("alternate") { use_alternate_stack(); crash(); }
    WAY("overflow") return overflow(way);
    WAY("overflow-alternate") { use_alternate_stack(); return overflow(way); }
    WAY("threads") {
        pthread_t threads[4];
        pthread_barrier_init(&together, NULL, 4);
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, crash_together, NULL);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    }
    WAY("timer") allocate_until_killed();
    WAY("pthread_exit") pthread_exit(NULL);
    WAY("leader-gone") leave_by(ends);
    WAY("leader-gone-exit") leave_by(exits);
    WAY("handler-exits") { handle(SIGSEGV, exit_at_once); crash(); }
    WAY("handler-dies") { handle(SIGSEGV, die_of_it); crash(); }
    WAY("handler-once") {
        struct sigaction action = {.sa_handler = raise_again, .sa_flags = SA_RESETHAND};
        sigaction(SIGTERM, &action, NULL);
        raise(SIGTERM);
    }
    WAY("abort-dies") { handle(SIGABRT, die_of_it); abort(); }
    WAY("abort-handled") { handle(SIGABRT, do_nothing); abort(); }
    WAY("abort-back") { handle(SIGABRT, go_back); if (!sigsetjmp(back, 1)) abort(); return 5; }
    WAY("segv-back") { handle(SIGSEGV, go_back); if (!sigsetjmp(back, 1)) crash(); return 6; }
    WAY("ignored") { signal(SIGTERM, SIG_IGN); raise(SIGTERM); return 7; }
    WAY("blocked") {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(SIGTERM);
        sigpending(&set);
        return 8 + sigismember(&set, SIGTERM);
    }
    WAY("exec") execl("/bin/true", "true", (char *)NULL);
    return 99;
}

/* Whether the function that holds a block has returned at the end, or its thread has left. */
static int is_over(const char *way) {
    static const char *const ways[] = {"return",    "pthread_exit", "leader-gone", "leader-gone-exit",
                                       "abort-back", "segv-back",    "ignored",     "blocked"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(way, ways[i]) == 0) return 1;
    return 0;
}

static __attribute__((noinline)) int live_and_end(const char *way) {
    say_signals();
    char *volatile held = malloc(208);
    printf("leak %s 208 1 %d\n", is_over(way) ? "definitely" : "still_reachable", __LINE__ - 1);
    lose();
    fflush(stdout);
    wipe_stack();
    int status = end(way);
    held[0] = 1;
    return status;
}

int main(int count, char **words) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count == 2) return live_and_end(words[1]);
    pid_t child = fork();
    if (child == 0) exit(live_and_end(words[2]));
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
