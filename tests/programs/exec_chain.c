/* Programs that start programs: exec in place, fork + exec with a cleaned environment, vfork + exec, posix_spawn, system.
 * Every image prints its own truth at its end; an image that is replaced has no end of its own and prints nothing. */
#include "truth.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

FRAME static void keep(int blocks) {
    for (int i = 0; i < blocks; i++) TAKE(malloc((size_t)(100 + i)), 100 + i);
}

static void wait_for(pid_t pid) {
    int status;
    NEED(pid > 0 && waitpid(pid, &status, 0) == pid);
    NEED(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void start_all(char *self) {
    char *leaf[] = {self, (char *)"leaf", (char *)"5", NULL};
    char *replaced[] = {self, (char *)"replace", NULL};
    char *nothing[] = {NULL};
    char *other[] = {(char *)"HOME=/", NULL};
    pid_t pid = fork();
    if (pid == 0) execve(self, leaf, nothing), _exit(1);
    wait_for(pid);
    pid = fork();
    if (pid == 0) clearenv(), execv(self, leaf), _exit(1);
    wait_for(pid);
    pid = vfork();
    if (pid == 0) execve(self, leaf, other), _exit(1);
    wait_for(pid);
    NEED(posix_spawn(&pid, self, NULL, NULL, leaf, other) == 0);
    wait_for(pid);
    NEED(posix_spawnp(&pid, self, NULL, NULL, replaced, environ) == 0);
    wait_for(pid);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "leaf") == 0) {
        keep(atoi(argv[2]));
    } else if (argc == 2 && strcmp(argv[1], "replace") == 0) {
        keep(1000);
        execl(argv[0], argv[0], "leaf", "7", (char *)NULL);
        return 1;
    } else {
        keep(3);
        start_all(argv[0]);
        keep(2);
    }
    truth_print();
    return 0;
}
