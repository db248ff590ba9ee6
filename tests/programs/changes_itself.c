/* Programs that change what they are allowed to do, and go on allocating: the first argument says what changes. Before and
 * after there are enough blocks that tables have to grow. Children are made before and after where the change can affect
 * them. What the change forbids to the program it does not do; whoever is inside it must not either. */
#include "truth.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { BLOCKS = 60000, NOBODY = 65534 };

static void *before_blocks[BLOCKS];

FRAME static void before(void) {
    for (int i = 0; i < BLOCKS; i++) before_blocks[i] = TAKE(malloc(48), 48).at;
}

FRAME static void after(int blocks) {
    for (int i = 0; i < blocks; i++) TAKE(malloc(80), 80);
}

FRAME static void in_child(void) {
    for (int i = 0; i < 500; i++) TAKE(malloc(64), 64);
}

static void child(void) {
    pid_t pid = fork();
    NEED(pid >= 0);
    if (pid == 0) {
        truth_begin_child();
        in_child();
        truth_print();
        _exit(0);
    }
    int status;
    NEED(waitpid(pid, &status, 0) == pid && status == 0);
}

static void limit(int resource, rlim_t value) {
    struct rlimit both = {value, value};
    NEED(setrlimit((__rlimit_resource_t)resource, &both) == 0);
}

/* The break is raised now by a block that is given back, so that the heap needs no system call later. */
static void prepare_heap(void) {
    limit(RLIMIT_CORE, 0);
    char *large = malloc(100000);
    NEED(large != NULL);
    free(large);
    void *volatile many[20000];
    for (int i = 0; i < 20000; i++) many[i] = malloc(80);
    for (int i = 0; i < 20000; i++) free(many[i]);
}

static void allow_few_calls(unsigned otherwise) {
    static const int calls[] = {SYS_write, SYS_read, SYS_exit_group, SYS_exit, SYS_brk, SYS_mmap, SYS_munmap, SYS_getpid};
    const int count = sizeof calls / sizeof *calls;
    struct sock_filter filter[64];
    int length = 0;
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < count; i++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
    struct sock_fprog program = {(unsigned short)length, filter};
    NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    NEED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void to_nobody(void) {
    NEED(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
}

static void to_another_root(void) {
    NEED(chroot("/proc/self/fdinfo") == 0 && chdir("/") == 0);
}

static void to_a_user_namespace(void) {
    NEED(unshare(CLONE_NEWUSER) == 0);
}

static void not_dumpable(void) {
    NEED(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
}

static void few_descriptors(void) {
    limit(RLIMIT_NOFILE, 3);
}

static void small_files(void) {
    limit(RLIMIT_FSIZE, 100);
}

static void little_address_space(void) {
    limit(RLIMIT_AS, 1ul << 30);
}

static void all_locked(void) {
    NEED(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
}

static void future_locked(void) {
    NEED(mlockall(MCL_FUTURE) == 0);
}

static void all_signals_blocked(void) {
    sigset_t all;
    sigfillset(&all);
    NEED(sigprocmask(SIG_SETMASK, &all, NULL) == 0);
}

static void other_calls_refused(void) {
    prepare_heap();
    allow_few_calls(SECCOMP_RET_ERRNO | 1);
}

static void other_calls_kill(void) {
    prepare_heap();
    allow_few_calls(SECCOMP_RET_KILL_PROCESS);
}

static void strict(void) {
    prepare_heap();
    NEED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    after(15000);
    /* Not even getpid is allowed here, so there is no truth: a line says that all went well. */
    truth_say("strict to the end\n", 18);
    for (;;) syscall(SYS_exit, 6);
}

static const struct {
    const char *name;
    void (*change)(void);
    int can_fork;
} changes[] = {
    {"uid", to_nobody, 1},
    {"chroot", to_another_root, 1},
    {"user-namespace", to_a_user_namespace, 1},
    {"dumpable", not_dumpable, 1},
    {"descriptors", few_descriptors, 1},
    {"file-size", small_files, 1},
    {"address-space", little_address_space, 1},
    {"all-locked", all_locked, 1},
    {"future-locked", future_locked, 1},
    {"signals", all_signals_blocked, 1},
    {"refused", other_calls_refused, 0},
    {"killed", other_calls_kill, 0},
    {"strict", strict, 0},
};

int main(int argc, char **argv) {
    NEED(argc == 2);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        if (strcmp(argv[1], changes[i].name) != 0) continue;
        before();
        changes[i].change();
        if (changes[i].can_fork) child();
        after(BLOCKS);
        truth_print();
        return 6;
    }
    return 98;
}
