/* Starts the program that is its last argument in every way, one after another, and leaves with 20 plus the number of those
 * that did not end with status 4. */
#include "truth.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static int differs(pid_t pid) {
    int status;
    NEED(pid > 0 && waitpid(pid, &status, 0) == pid);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 4);
}

static int by_fork(char **words) {
    pid_t pid = fork();
    if (pid == 0) execv(words[0], words), _exit(1);
    return differs(pid);
}

static int by_vfork(char **words) {
    pid_t pid = vfork();
    if (pid == 0) execve(words[0], words, environ), _exit(1);
    return differs(pid);
}

static int by_spawn(char **words) {
    pid_t pid;
    NEED(posix_spawn(&pid, words[0], NULL, NULL, words, environ) == 0);
    return differs(pid);
}

static int by_shell(char **words) {
    int status = system(words[0]);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 4);
}

int main(int argc, char **argv) {
    NEED(argc == 2);
    char **words = argv + 1;
    return 20 + by_fork(words) + by_vfork(words) + by_spawn(words) + by_shell(words);
}
