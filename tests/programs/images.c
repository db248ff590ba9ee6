// Programs whose snapshots are taken while they run. Each says "ready" with what the test needs to know, works until its input ends
// or has a line, and then says what it saw: nothing of the snapshots may be among it.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int is_over;

static void *until_told(void *unused) {
    char byte;
    while (read(0, &byte, 1) < 0 && errno == EINTR) {}
    is_over = 1;
    return 0;
}

static pthread_t listen_for_the_end(void) {
    pthread_t thread;
    pthread_create(&thread, 0, until_told, 0);
    return thread;
}

static void say_ready(const void *what, unsigned long number) {
    printf("ready %d %lu %lu\n", getpid(), (unsigned long)what, number);
    fflush(stdout);
}

static int is_in_state(pid_t thread, char wanted) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    int file = open(path, O_RDONLY);
    if (file >= 0 && read(file, text, sizeof text - 1) < 0) text[0] = 0;
    close(file);
    char *state = strrchr(text, ')');
    return state && state[2] == wanted;
}

// ---- moment: words that change in step, and blocks that hold their own address and size

enum { WORDS = 1 << 20, KEPT = 4096, FIRST_SIZE = 1000, SIZES = 100 };

static volatile uint64_t words[WORDS + 1];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t begun;

static void *step(void *unused) {
    for (uint64_t number = 1; !is_over; number++) {
        words[WORDS] = number;
        for (size_t at = 0; at < WORDS; at++) words[at] = number;
    }
    return 0;
}

static void *change_blocks(void *seed_of) {
    uint64_t seed = (uint64_t)seed_of;
    uint64_t *kept[KEPT] = {0};
    int is_first = 1;
    while (!is_over) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        size_t at = seed >> 40 & (KEPT - 1), size = FIRST_SIZE + (seed >> 33) % SIZES;
        pthread_mutex_lock(&lock);
        free(kept[at]);
        kept[at] = malloc(size);
        kept[at][0] = (uint64_t)kept[at];
        kept[at][1] = size;
        pthread_mutex_unlock(&lock);
        if (is_first) sem_post(&begun);
        is_first = 0;
    }
    for (size_t at = 0; at < KEPT; at++) free(kept[at]);
    return 0;
}

static void moment(void) {
    pthread_t threads[4];
    sem_init(&begun, 0, 0);
    pthread_create(&threads[0], 0, step, 0);
    for (long number = 1; number < 4; number++) pthread_create(&threads[number], 0, change_blocks, (void *)number);
    pthread_t end = listen_for_the_end();
    for (int number = 1; number < 4; number++) sem_wait(&begun); // each has a block
    say_ready((void *)words, WORDS);
    pthread_join(end, 0);
    for (int number = 0; number < 4; number++) pthread_join(threads[number], 0);
    printf("over\n");
}

// ---- children: is there a child, a signal of one, a tracer?

static atomic_long told_of_children;
static void on_child(int signal) { told_of_children++; }

static long number_in(const char *path, const char *field) {
    char line[256];
    long number = -1;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, field, strlen(field))) number = atol(line + strlen(field));
    if (file) fclose(file);
    return number;
}

static long listed_children(void) {
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    FILE *file = fopen(path, "r");
    long found = file && fgets(text, sizeof text, file) && text[0] > ' ';
    if (file) fclose(file);
    return found;
}

static void children(void) {
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
    sigaction(SIGCHLD, &action, 0);
    pthread_t end = listen_for_the_end();
    say_ready(0, 0);
    long waited = 0, listed = 0, loops = 0;
    for (; !is_over; loops++) {
        int status;
        if (wait4(-1, &status, WNOHANG | __WALL, 0) != -1 || errno != ECHILD) waited++;
        listed += listed_children();
    }
    pthread_join(end, 0);
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("signals=%ld waited=%ld listed=%ld tracer=%ld loops=%d\n", (long)told_of_children, waited, listed,
           number_in("/proc/self/status", "TracerPid:"), loops > 0);
}

// ---- calls: a thread in each system call that waits

enum { SECONDS = 2 };
static int pipe_of_read[2], pipe_of_poll[2], listening, sockets[2], semaphore, watching;
static uint32_t futex_word;
static pid_t child;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static long call_read(void) { char byte; return read(pipe_of_read[0], &byte, 1); }
static long call_futex(void) { return syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, 0, 0, 0); }
static long call_nanosleep(void) { struct timespec time = {SECONDS, 0}; return syscall(SYS_nanosleep, &time, 0); }
static long call_clock_nanosleep(void) {
    struct timespec time = {SECONDS, 0};
    return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, 0);
}
static long call_poll(void) { struct pollfd of = {pipe_of_poll[0], POLLIN}; return poll(&of, 1, -1); }
static long call_poll_timed(void) { struct pollfd of = {listening, POLLOUT}; return poll(&of, 1, SECONDS * 1000); }
static long call_select(void) {
    fd_set of;
    FD_ZERO(&of);
    FD_SET(pipe_of_poll[0], &of);
    return select(pipe_of_poll[0] + 1, &of, 0, 0, 0);
}
static long call_epoll_wait(void) {
    int of = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(of, EPOLL_CTL_ADD, pipe_of_poll[0], &event);
    return epoll_wait(of, &event, 1, -1);
}
static long call_epoll_wait_timed(void) {
    struct epoll_event event;
    return epoll_wait(epoll_create1(0), &event, 1, SECONDS * 1000);
}
static long call_recv_timed(void) {
    char byte;
    struct timeval time = {3600, 0};
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    return recv(sockets[0], &byte, 1, 0);
}
static long call_semtimedop(void) {
    struct sembuf take = {.sem_op = -1};
    struct timespec time = {3600, 0};
    return semtimedop(semaphore, &take, 1, &time);
}
static long call_inotify_read(void) {
    char event[4096];
    return read(watching, event, sizeof event);
}
static long call_sigtimedwait(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    struct timespec time = {3600, 0};
    return sigtimedwait(&set, 0, &time);
}
static long call_accept(void) { return accept(listening, 0, 0); }
static long call_wait4(void) { return waitpid(child, 0, 0); }

static struct Call {
    const char *name;
    long (*make)(void);
    int is_timed;
    pthread_t thread;
    atomic_int number;
    int interrupted, is_short;
    long result;
} calls[] = {
    {"read", call_read}, {"futex", call_futex}, {"nanosleep", call_nanosleep, 1},
    {"clock_nanosleep", call_clock_nanosleep, 1}, {"poll", call_poll}, {"poll_timed", call_poll_timed, 1},
    {"select", call_select}, {"epoll_wait", call_epoll_wait}, {"sigtimedwait", call_sigtimedwait},
    {"accept", call_accept}, {"wait4", call_wait4}, {"epoll_wait_timed", call_epoll_wait_timed, 1},
    {"recv_timed", call_recv_timed}, {"semtimedop", call_semtimedop}, {"inotify_read", call_inotify_read},
};
enum { CALLS = sizeof calls / sizeof *calls };

static void *in_call(void *of) {
    struct Call *call = of;
    double start = now();
    call->number = syscall(SYS_gettid);
    while ((call->result = call->make()) == -1 && errno == EINTR) call->interrupted++;
    call->is_short = call->is_timed && now() - start < SECONDS;
    return 0;
}

static void system_calls(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pipe(pipe_of_read);
    pipe(pipe_of_poll);
    int release[2];
    pipe(release);
    if (!(child = fork())) {
        char byte;
        close(release[1]);
        read(release[0], &byte, 1);
        _exit(7);
    }
    listening = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    bind(listening, (struct sockaddr *)&address, length);
    listen(listening, 1);
    getsockname(listening, (struct sockaddr *)&address, &length);
    char watched[] = "/tmp/heaplens-images-XXXXXX";
    int file = mkstemp(watched);
    watching = inotify_init();
    inotify_add_watch(watching, watched, IN_MODIFY);
    unlink(watched);
    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
    semaphore = semget(IPC_PRIVATE, 1, 0600);
    for (int at = 0; at < CALLS; at++) pthread_create(&calls[at].thread, 0, in_call, &calls[at]);
    for (int at = 0; at < CALLS; at++)
        while (!calls[at].number || !is_in_state(calls[at].number, 'S')) sched_yield();
    say_ready(0, 0);
    char byte;
    read(0, &byte, 1);
    write(pipe_of_read[1], "x", 1);
    write(pipe_of_poll[1], "x", 1);
    write(sockets[1], "x", 1);
    write(file, "x", 1);
    semop(semaphore, &(struct sembuf){.sem_op = 1}, 1);
    close(release[1]);
    int connected = socket(AF_INET, SOCK_STREAM, 0);
    connect(connected, (struct sockaddr *)&address, length);
    for (int at = 0; at < CALLS; at++) {
        if (calls[at].make == call_sigtimedwait) pthread_kill(calls[at].thread, SIGUSR1);
        while (calls[at].make == call_futex && syscall(SYS_futex, &futex_word, FUTEX_WAKE, 1, 0, 0, 0) == 0) sched_yield();
        pthread_join(calls[at].thread, 0);
        printf("%s interrupted=%d short=%d failed=%d\n", calls[at].name, calls[at].interrupted > 0, calls[at].is_short,
               calls[at].result < 0);
    }
    semctl(semaphore, 0, IPC_RMID);
}

// ---- busy: threads that allocate, signal each other, and know what they must compute

enum { THREADS = 16, UNIT = 200 };
static pthread_t workers[THREADS];
static pthread_barrier_t all_there, all_sent;
static atomic_long sent, received, units, wrong, ticks;
static uint64_t expected;

static void on_queued(int signal, siginfo_t *info, void *context) { received++; }
static void on_tick(int signal) { ticks++; }

static uint64_t unit(void) {
    uint64_t *list = 0, sum = 0;
    for (uint64_t number = 0; number < UNIT; number++) {
        uint64_t *next = malloc(24 + number % 7 * 16);
        next[0] = (uint64_t)list;
        next[1] = number * 0x9e3779b97f4a7c15u;
        list = next;
    }
    while (list) {
        uint64_t *next = (uint64_t *)list[0];
        sum = (sum << 7 | sum >> 57) ^ list[1];
        free(list);
        list = next;
    }
    return sum;
}

static void *work(void *number_of) {
    long number = (long)number_of;
    pthread_barrier_wait(&all_there); // nobody is signalled before all are there
    while (!is_over) {
        if (unit() != expected) wrong++;
        if (++units % 4 == 0 && pthread_sigqueue(workers[(number + 1) % THREADS], SIGRTMIN, (union sigval){0}) == 0)
            sent++;
    }
    pthread_barrier_wait(&all_sent); // what was sent arrives while its thread is there
    sched_yield();
    return 0;
}

static void busy(void) {
    struct sigaction action = {.sa_sigaction = on_queued, .sa_flags = SA_RESTART | SA_SIGINFO};
    sigaction(SIGRTMIN, &action, 0);
    struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &tick, 0);
    struct itimerval every = {{0, 1000}, {0, 1000}};
    expected = unit();
    pthread_barrier_init(&all_there, 0, THREADS + 1);
    pthread_barrier_init(&all_sent, 0, THREADS);
    pthread_t end = listen_for_the_end();
    for (long number = 0; number < THREADS; number++) pthread_create(&workers[number], 0, work, (void *)number);
    pthread_barrier_wait(&all_there);
    setitimer(ITIMER_REAL, &every, 0);
    say_ready(0, 0);
    pthread_join(end, 0);
    for (int number = 0; number < THREADS; number++) pthread_join(workers[number], 0);
    printf("wrong=%ld lost=%ld worked=%d ticked=%d\n", (long)wrong, sent - received, units > THREADS, ticks > 0);
}

// ---- hostile: processes and threads that come and go

extern char **environ;
static atomic_long bad;

static void *forks(void *unused) {
    while (!is_over) {
        int status = 0;
        pid_t pid = fork();
        if (!pid) _exit(3);
        if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3) bad++;
    }
    return 0;
}

static void *spawns(void *unused) {
    char *command[] = {"/bin/true", 0};
    while (!is_over) {
        int status = 0;
        pid_t pid;
        if (posix_spawn(&pid, command[0], 0, 0, command, environ)) bad++;
        else if (waitpid(pid, &status, 0) != pid || status) bad++;
    }
    return 0;
}

static void *nothing(void *number) { return number; }

static void *starts(void *unused) {
    while (!is_over) {
        pthread_t thread;
        void *result = 0;
        if (pthread_create(&thread, 0, nothing, (void *)5)) bad++;
        else if (pthread_join(thread, &result) || result != (void *)5) bad++;
    }
    return 0;
}

static void hostile(void) {
    pthread_t threads[3], end = listen_for_the_end();
    void *(*all[])(void *) = {forks, spawns, starts};
    for (int at = 0; at < 3; at++) pthread_create(&threads[at], 0, all[at], 0);
    say_ready(0, 0);
    pthread_join(end, 0);
    for (int at = 0; at < 3; at++) pthread_join(threads[at], 0);
    printf("bad=%ld\n", (long)bad);
}

// ---- leaderless: the first thread has ended

static void *go_on_alone(void *unused) {
    while (!is_in_state(getpid(), 'Z')) sched_yield();
    say_ready(0, 0);
    until_told(0);
    printf("over\n");
    exit(0);
}

static void leaderless(void) {
    pthread_t thread;
    pthread_create(&thread, 0, go_on_alone, 0);
    pthread_exit(0);
}

// ---- waits: does nothing, for tests that stop it or read its files

static void waits(void) {
    int ends[2];
    pipe(ends);
    char *volatile block = malloc(12345);
    say_ready(block, ends[1]);
    until_told(0);
    close(ends[1]);
    char byte;
    long closed = read(ends[0], &byte, 1);
    printf("over %ld\n", closed);
}

// ---- alone: the first thread, in whose name calls are made, computes, sleeps or reads

static uint64_t mix(void) {
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
    double x = 1.5, y = 0.25;
    for (int turn = 0; turn < 20000; turn++) {
        a += b ^ c; b = b << 5 | b >> 59; c += d * 3; d ^= e + 1; e += f; f = f << 9 | f >> 55; g += h ^ a; h += g;
        if (h & 1) a += 7;
        x = x * 1.0000001 + y;
        y = y * 0.999999 + 0.125;
    }
    union { double number; uint64_t bits; } both = {x + y};
    return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ both.bits;
}

static void alone(const char *what) {
    long bad = 0;
    char byte;
    uint64_t expected = mix();
    if (!strcmp(what, "reads")) {
        say_ready(0, 0);
        bad = read(0, &byte, 1) != 1 || byte != '\n';
    } else {
        pthread_t end = listen_for_the_end();
        say_ready(0, 0);
        while (!is_over) {
            double start = now();
            struct timespec time = {0, 30000000};
            if (!strcmp(what, "computes")) bad += mix() != expected;
            else bad += nanosleep(&time, 0) != 0 || now() - start < 0.03;
        }
        pthread_join(end, 0);
    }
    sigset_t held;
    pthread_sigmask(SIG_BLOCK, 0, &held);
    for (int signal = 1; signal < 65; signal++) bad += sigismember(&held, signal) == 1;
    printf("bad=%ld\n", bad);
}

// ---- restricted: has given up a system call, and sampled programs: refused

static void restricted(void) {
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    waits();
}

// ---- grows: keeps a block with every step, until a file is there

enum { MOST_STEPS = 60000 };

static void grows(const char *file) {
    char **kept = calloc(MOST_STEPS, sizeof *kept);
    long step = 0;
    for (; step < MOST_STEPS && access(file, F_OK); step++) {
        kept[step] = malloc(4096);
        memset(kept[step], 1, 4096);
        volatile long work = 0;
        for (long turn = 0; turn < 300000; turn++) work += turn;
    }
    printf("steps %d\n", step < MOST_STEPS);
}

// ---- large: so many MiB in pages of 4 KiB, and so many blocks, for the bench

static void large(long mib, long blocks) {
    size_t length = (size_t)mib << 20;
    char *memory = mmap(0, length + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    madvise(memory, length, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < length; at += 4096) memory[at] = 1;
    void **list = 0;
    for (long number = 0; number < blocks; number++) {
        void **next = malloc(48);
        *next = list;
        list = next;
    }
    say_ready(list, blocks);
    until_told(0);
    printf("over\n");
}

int main(int count, char **words_of) {
    const char *mode = words_of[1];
    if (!strcmp(mode, "moment")) moment();
    if (!strcmp(mode, "children")) children();
    if (!strcmp(mode, "calls")) system_calls();
    if (!strcmp(mode, "busy")) busy();
    if (!strcmp(mode, "hostile")) hostile();
    if (!strcmp(mode, "leaderless")) leaderless();
    if (!strcmp(mode, "waits")) waits();
    if (!strcmp(mode, "alone")) alone(words_of[2]);
    if (!strcmp(mode, "restricted")) restricted();
    if (!strcmp(mode, "grows")) grows(words_of[2]);
    if (!strcmp(mode, "large")) large(atol(words_of[2]), atol(words_of[3]));
    return 0;
}
