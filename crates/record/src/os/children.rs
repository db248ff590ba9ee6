//! Children of the recorder: which have exited, how, and what they used. Orphans of the process tree become children, too.

use std::io;
use std::mem::MaybeUninit;

use heaplens_format::recording::Exit;
use heaplens_format::{Bytes, Nanos, Pid};

/// Makes orphans of the process tree children of the recorder, so that it can reap them.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: PR_SET_CHILD_SUBREAPER takes one number and no pointer.
    let result = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A child that has ended and is not reaped yet; `None` when there is none, or no child at all.
pub(crate) fn ended_child() -> Option<Pid> {
    ended(libc::P_ALL, 0)
}

/// Whether this child has ended. It stays a zombie until [`reap`], so its pid cannot be anybody else's.
pub(crate) fn has_ended(child: Pid) -> bool {
    ended(libc::P_PID, child.get()).is_some()
}

fn ended(which: libc::idtype_t, id: u32) -> Option<Pid> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is writable for one siginfo_t.
    let result = unsafe { libc::waitid(which, id, info.as_mut_ptr(), flags) };
    // SAFETY: `info` was zeroed, and waitid fills the child variant of it, which `si_pid` reads.
    let (pid, code) = unsafe { (info.assume_init().si_pid(), info.assume_init().si_code) };
    // Children that another thread of the recorder traces are reported when they stop, too (wait(2) does not mention it).
    let is_end = matches!(code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED);
    (result == 0 && pid > 0 && is_end).then(|| Pid::new(pid as u32))
}

/// What the kernel knows about a child after its exit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reaped {
    /// How it ended.
    pub(crate) exit: Exit,
    /// CPU time of the child and of all descendants that were waited for.
    pub(crate) tree_cpu: Nanos,
    /// The largest resident set of the child, of what it was before `exec`, or of a descendant that was waited for.
    pub(crate) tree_peak_rss: Bytes,
}

/// Reaps a child that has ended.
pub(crate) fn reap(child: Pid) -> io::Result<Reaped> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are writable for their types.
    let reaped = unsafe { libc::wait4(child.get() as libc::pid_t, &mut status, 0, usage.as_mut_ptr()) };
    if reaped < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed is a valid rusage, and wait4 succeeded.
    let usage = unsafe { usage.assume_init() };
    Ok(Reaped {
        exit: exit_of(status),
        tree_cpu: Nanos::new(nanos_of(usage.ru_utime) + nanos_of(usage.ru_stime)),
        tree_peak_rss: kib(usage.ru_maxrss),
    })
}

fn exit_of(status: libc::c_int) -> Exit {
    if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Code(libc::WEXITSTATUS(status))
    }
}

fn nanos_of(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

fn kib(count: libc::c_long) -> Bytes {
    Bytes::new(u64::try_from(count).unwrap_or(0) * 1024)
}

/// The largest resident set that the recorder itself has had.
pub(crate) fn own_peak_rss() -> Bytes {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is writable for one rusage, and zeroed is a valid value should the call fail.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    kib(usage.ru_maxrss)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_status_says_code_or_signal() {
        assert_eq!(exit_of(3 << 8), Exit::Code(3));
        assert_eq!(exit_of(9), Exit::Signal(9));
    }
}
