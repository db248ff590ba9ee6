//! The few system calls that have no safe wrapper elsewhere: held signals, reaping with resource usage, the CPU clock of
//! another process, the time stamp counter. It decides nothing; every raw pointer of this crate lives here.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use heaplens_format::recording::Exit;
use heaplens_format::{Bytes, Nanos, Pid};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Signals that would end the recorder. It holds them back, and the program decides.
const HELD: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// A signal that reached the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// A child changed its state.
    Child,
    /// The terminal sent it to the whole foreground group: the program has it already.
    FromTerminal,
    /// Some process sent it to the recorder alone.
    FromProcess(libc::c_int),
    /// No signal: an agent opened the wake-up FIFO.
    WakeUp,
}

/// While this lives, signals wait in a queue instead of ending the recorder.
pub(crate) struct HeldSignals {
    before: libc::sigset_t,
    on_child: libc::sighandler_t,
    queue: OwnedFd,
}

impl HeldSignals {
    /// Blocks the signals for the calling thread and opens the queue.
    pub(crate) fn hold() -> io::Result<Self> {
        let held = signal_set();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `held` is an initialised set and `before` is writable for one set.
        let error = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &held, before.as_mut_ptr()) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        // SAFETY: pthread_sigmask succeeded, so it filled `before`.
        let before = unsafe { before.assume_init() };
        match signal_queue(&held) {
            Ok(queue) => Ok(Self { before, on_child: on_child_signal(libc::SIG_DFL), queue }),
            Err(error) => {
                set_mask(&before);
                Err(error)
            }
        }
    }

    /// Makes `command` start with the signals as the recorder itself found them.
    pub(crate) fn release_in(&self, command: &mut Command) {
        let (before, on_child) = (self.before, self.on_child);
        // SAFETY: the closure makes two async-signal-safe calls and touches only its own copies.
        unsafe {
            command.pre_exec(move || {
                on_child_signal(on_child);
                set_mask(&before);
                Ok(())
            });
        }
    }

    /// Waits at most `timeout` for a signal, or until an agent opens the wake-up FIFO.
    pub(crate) fn wait(
        &self,
        timeout: Nanos,
        wake_up: Option<BorrowedFd<'_>>,
    ) -> io::Result<Option<Arrived>> {
        let timeout = Timespec {
            tv_sec: (timeout.get() / 1_000_000_000) as i64,
            tv_nsec: (timeout.get() % 1_000_000_000) as _,
        };
        let queue = self.queue.as_fd();
        // Without a FIFO the signals are listened for twice, which makes no difference.
        let wake_up = wake_up.unwrap_or(queue);
        let mut heard = [PollFd::new(&queue, PollFlags::IN), PollFd::new(&wake_up, PollFlags::IN)];
        match poll(&mut heard, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(None),
            Ok(_) if !heard[0].revents().is_empty() => self.take(),
            Ok(_) => Ok(Some(Arrived::WakeUp)),
            Err(error) => Err(error.into()),
        }
    }

    fn take(&self) -> io::Result<Option<Arrived>> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: `info` is writable for `size` bytes, and the descriptor is a signalfd.
        let read = unsafe { libc::read(self.queue.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        if read != size as isize {
            return Ok(None);
        }
        // SAFETY: the kernel filled the whole structure.
        let info = unsafe { info.assume_init() };
        Ok(Some(arrival(info.ssi_signo as libc::c_int, info.ssi_code)))
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        on_child_signal(self.on_child);
        set_mask(&self.before);
    }
}

/// Positive codes are the kernel's own (signal(7), `si_code`): a terminal signals the whole group, so nothing is to be done.
fn arrival(signal: libc::c_int, code: i32) -> Arrived {
    match signal {
        libc::SIGCHLD => Arrived::Child,
        _ if code > 0 => Arrived::FromTerminal,
        other => Arrived::FromProcess(other),
    }
}

fn signal_set() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set before sigaddset reads it; all numbers are valid signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in HELD {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        set.assume_init()
    }
}

fn signal_queue(set: &libc::sigset_t) -> io::Result<OwnedFd> {
    // SAFETY: `set` is an initialised set; -1 asks for a new descriptor.
    let fd = unsafe { libc::signalfd(-1, set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn set_mask(mask: &libc::sigset_t) {
    // SAFETY: `mask` is an initialised set; the old one is not asked for. The call fails only for a bad first argument.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, ptr::null_mut()) };
}

/// A process that inherits "ignored" for this signal gets no zombies, hence no exit status (wait(2), notes).
fn on_child_signal(action: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: the action is the default, or what this very call said was there before.
    unsafe { libc::signal(libc::SIGCHLD, action) }
}

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
    // Children that another thread of the recorder traces are told of when they stop, too (wait(2) says nothing of it).
    let is_end = matches!(code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED);
    (result == 0 && pid > 0 && is_end).then(|| Pid::new(pid as u32))
}

/// What the kernel knows about a child after its end.
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

/// CPU time of a process, zombies included; `None` once it is gone.
pub(crate) fn cpu_of(process: Pid) -> Option<Nanos> {
    let mut clock = 0;
    // SAFETY: `clock` is writable for one clock id.
    let error = unsafe { libc::clock_getcpuclockid(process.get() as libc::pid_t, &mut clock) };
    (error == 0).then(|| read_clock(clock)).flatten()
}

/// CPU time of the recorder's own thread.
pub(crate) fn own_cpu() -> Nanos {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

/// The monotonic clock, which the agent reads too.
pub(crate) fn monotonic() -> Nanos {
    read_clock(libc::CLOCK_MONOTONIC).unwrap_or_default()
}

fn read_clock(clock: libc::clockid_t) -> Option<Nanos> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable for one timespec.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    (result == 0).then(|| Nanos::new(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
}

/// Whether a call was refused by the rights of this process or by a filter of system calls.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS))
}

const PAGE: usize = 4096;

/// Adds to a word in the first page of a file that another process has mapped and changes itself; what it was before.
pub(crate) fn add(file: &File, offset: usize, value: u64) -> io::Result<u64> {
    let page = memmap2::MmapOptions::new().len(PAGE).map_raw(file)?;
    assert!(offset + 8 <= PAGE && offset.is_multiple_of(8), "a word of the first page");
    // SAFETY: as in `answer`.
    let word = unsafe { &*page.as_mut_ptr().add(offset).cast::<AtomicU64>() };
    Ok(word.fetch_add(value, Ordering::Relaxed))
}

/// Stores a word in the first page of a file that another process has mapped, and wakes who waits for it there.
pub(crate) fn answer(file: &File, offset: usize, value: u32) -> io::Result<()> {
    let page = memmap2::MmapOptions::new().len(PAGE).map_raw(file)?;
    assert!(offset + 4 <= PAGE && offset.is_multiple_of(4), "a word of the first page");
    // SAFETY: within the page by the line above, and aligned, since the page is. It is touched as an atomic word only, which
    // tolerates other writers, and an arena is never made shorter.
    let word = unsafe { &*page.as_mut_ptr().add(offset).cast::<AtomicU32>() };
    // Release: pairs with the Acquire of the one that waits.
    word.store(value, Ordering::Release);
    // SAFETY: the address is that of a mapped word, whose waiters are only woken.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    Ok(())
}

/// The time stamp counter, in whose ticks the agent counts its own cost.
pub(crate) fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and it touches no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_of_the_terminal_is_not_passed_on() {
        const SI_KERNEL: i32 = 0x80;
        assert_eq!(arrival(libc::SIGINT, SI_KERNEL), Arrived::FromTerminal);
    }

    #[test]
    fn a_signal_of_kill_is_passed_on() {
        const SI_USER: i32 = 0;
        assert_eq!(arrival(libc::SIGTERM, SI_USER), Arrived::FromProcess(libc::SIGTERM));
    }

    #[test]
    fn a_wait_status_says_code_or_signal() {
        assert_eq!(exit_of(3 << 8), Exit::Code(3));
        assert_eq!(exit_of(9), Exit::Signal(9));
    }

    #[test]
    fn the_cpu_clock_of_this_process_can_be_read() {
        assert!(cpu_of(Pid::new(std::process::id())).is_some_and(|cpu| cpu.get() > 0));
    }
}
