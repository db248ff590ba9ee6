/* How much stack it takes to start a program, in each way that there is: on a stack that was filled before, so that what was used is seen
 * afterwards.
 *
 *     stack NAME BYTES            and status 0, if every program was started
 */
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { SIZE = 256 << 10, FILLED = 0xa5 };
static char *stack;
static char *words[] = {"true", NULL}, *none[] = {NULL};
static pid_t child;

static void spawn(void) { posix_spawn(&child, "/bin/true", NULL, NULL, words, environ); }
static void spawn_by_name(void) { posix_spawnp(&child, "true", NULL, NULL, words, environ); }
static void spawn_without_environment(void) { posix_spawn(&child, "/bin/true", NULL, NULL, words, none); }

static int execute(void *unused) { (void)unused; execv("/bin/true", words); _exit(9); }
static int execute_list(void *unused) { (void)unused; execl("/bin/true", "true", NULL); _exit(9); }
static int execute_by_name(void *unused) { (void)unused; execvp("true", words); _exit(9); }
static int execute_without_environment(void *unused) { (void)unused; execve("/bin/true", words, none); _exit(9); }
/* What fails gives all back, and another one can be tried. */
static int execute_second(void *unused) { execv("/nowhere", words); return execute(unused); }

static void say(const char *name) {
    long free = 0;
    int status;
    while (free < SIZE && (unsigned char)stack[free] == FILLED) free++;
    if (waitpid(child, &status, 0) != child || status != 0) exit(1);
    printf("stack %s %ld\n", name, SIZE - free);
}

static void on_stack(const char *name, void (*call)(void)) {
    static ucontext_t here, there;
    memset(stack, FILLED, SIZE);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = SIZE;
    there.uc_link = &here;
    makecontext(&there, call, 0);
    swapcontext(&here, &there);
    say(name);
}

static void in_child(const char *name, int (*act)(void *)) {
    memset(stack, FILLED, SIZE);
    child = clone(act, stack + SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    say(name);
}

int main(void) {
    stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    on_stack("spawn", spawn);
    on_stack("spawn_by_name", spawn_by_name);
    on_stack("spawn_without_environment", spawn_without_environment);
    in_child("execute", execute);
    in_child("execute_list", execute_list);
    in_child("execute_by_name", execute_by_name);
    in_child("execute_without_environment", execute_without_environment);
    in_child("execute_second", execute_second);
    return 0;
}
