// A library that kills the process it is loaded into before its call of the number in KILLED_AT, counted from 1, of those that trace
// and that read the memory of others. With REFUSED these fail, as where the kernel does not allow them.
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static long step(long number, long first, long second, long third, long fourth, long fifth, long sixth) {
    const char *at = getenv("KILLED_AT");
    if (at && ++calls == atol(at)) kill(getpid(), SIGKILL);
    if (!getenv("REFUSED")) return syscall(number, first, second, third, fourth, fifth, sixth);
    errno = EPERM;
    return -1;
}

long ptrace(int request, int thread, void *address, void *data) {
    return step(SYS_ptrace, request, thread, (long)address, (long)data, 0, 0);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long to_count, const struct iovec *from,
                         unsigned long from_count, unsigned long flags) {
    return step(SYS_process_vm_readv, pid, (long)to, to_count, (long)from, from_count, flags);
}
