//! Signals that the recorder holds back while a program runs, as a queue that can be waited for. What is done with one is decided
//! elsewhere.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

use heaplens_format::Nanos;
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
}
