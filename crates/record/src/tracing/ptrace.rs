//! The requests of ptrace(2) and waiting for their effect. It decides nothing. Only the thread that attached itself to
//! another may ask anything of it, and when that thread exits the kernel detaches from all that it traced.

use std::io;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use heaplens_format::Addr;

/// The id of a thread.
pub(crate) type Tid = libc::pid_t;

/// All registers of a thread.
pub(crate) type Registers = libc::user_regs_struct;

/// `PTRACE_EVENT_STOP` of the kernel's header.
const EVENT_STOP: libc::c_int = 128;
/// With `PTRACE_O_TRACESYSGOOD`, the signal of a stop at a system call.
const AT_CALL: libc::c_int = libc::SIGTRAP | 0x80;
/// `PTRACE_GETSIGMASK` and `PTRACE_SETSIGMASK` (since Linux 3.11).
const GET_MASK: libc::c_uint = 0x420a;
const SET_MASK: libc::c_uint = 0x420b;
/// Bytes of the kernel's signal set.
const MASK_SIZE: usize = 8;

/// Threads often stop at once: how often the processor is yielded before this thread sleeps.
const YIELDS: u32 = 20;
/// The sleep between two attempts after that.
const NAP: Duration = Duration::from_micros(40);

/// Why a thread is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// For our sake, when it began, or because its process was stopped. It is inside the kernel's handling of signals: registers
    /// that are set now are those with which interrupted calls go on.
    Asked,
    /// It is about to take a signal.
    Signal(libc::c_int),
    /// It enters or leaves a system call.
    Call,
    /// It has created a new task.
    Birth,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// It is stopped.
    Stopped(Stop),
    /// It has exited.
    Gone,
    /// Neither, in time.
    Late,
}

/// Attaches to a thread without stopping it.
pub(crate) fn seize(thread: Tid) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, thread, 0)
}

/// Asks it to stop.
pub(crate) fn interrupt(thread: Tid) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, thread, 0)
}

/// Resumes it, with a signal or without.
pub(crate) fn go_on(thread: Tid, signal: libc::c_int) -> io::Result<()> {
    request(libc::PTRACE_CONT, thread, signal as usize)
}

/// The same, up to the next entry to or exit from a system call.
pub(crate) fn go_on_to_call(thread: Tid, signal: libc::c_int) -> io::Result<()> {
    request(libc::PTRACE_SYSCALL, thread, signal as usize)
}

/// Detaches from it.
pub(crate) fn detach(thread: Tid, signal: libc::c_int) -> io::Result<()> {
    request(libc::PTRACE_DETACH, thread, signal as usize)
}

/// Sets the options of tracing.
pub(crate) fn set_options(thread: Tid, options: libc::c_int) -> io::Result<()> {
    request(libc::PTRACE_SETOPTIONS, thread, options as usize)
}

/// The task that it has created.
pub(crate) fn born(thread: Tid) -> io::Result<Tid> {
    let mut number: libc::c_ulong = 0;
    // SAFETY: the kernel writes one unsigned long to where `number` is.
    check(unsafe {
        libc::ptrace(libc::PTRACE_GETEVENTMSG, thread, std::ptr::null_mut::<u8>(), &mut number)
    })?;
    Tid::try_from(number).map_err(io::Error::other)
}

pub(crate) fn registers(thread: Tid) -> io::Result<Registers> {
    let mut registers = MaybeUninit::<Registers>::uninit();
    // SAFETY: the kernel fills in the registers of a thread that this one has stopped, and nothing beside them.
    check(unsafe {
        libc::ptrace(libc::PTRACE_GETREGS, thread, std::ptr::null_mut::<u8>(), registers.as_mut_ptr())
    })?;
    // SAFETY: filled in just now.
    Ok(unsafe { registers.assume_init() })
}

pub(crate) fn set_registers(thread: Tid, registers: &Registers) -> io::Result<()> {
    // SAFETY: the kernel reads one set of registers; the thread is not this one.
    check(unsafe { libc::ptrace(libc::PTRACE_SETREGS, thread, std::ptr::null_mut::<u8>(), registers) })
}

/// Writes a word of its memory.
pub(crate) fn write(thread: Tid, address: Addr, word: u64) -> io::Result<()> {
    // SAFETY: the kernel writes to the memory of the other process, where there is any; both are numbers to this one.
    check(unsafe { libc::ptrace(libc::PTRACE_POKEDATA, thread, address.get() as usize, word as usize) })
}

/// Its signal mask.
pub(crate) fn mask(thread: Tid) -> io::Result<u64> {
    let mut mask = 0u64;
    // SAFETY: the kernel writes `MASK_SIZE` bytes to where `mask` is.
    check(unsafe { libc::ptrace(GET_MASK, thread, MASK_SIZE, &mut mask) })?;
    Ok(mask)
}

pub(crate) fn set_mask(thread: Tid, mask: u64) -> io::Result<()> {
    // SAFETY: the kernel reads `MASK_SIZE` bytes from where `mask` is.
    check(unsafe { libc::ptrace(SET_MASK, thread, MASK_SIZE, &mask) })
}

/// Waits until a thread stops or ends, however long that takes.
pub(crate) fn wait(thread: Tid) -> io::Result<Waited> {
    wait_for(thread, libc::WSTOPPED)
}

/// The same, no longer than to a moment.
pub(crate) fn wait_until(thread: Tid, deadline: Instant) -> io::Result<Waited> {
    for attempt in 0u32.. {
        match wait_for(thread, libc::WSTOPPED | libc::WNOHANG)? {
            Waited::Late if Instant::now() >= deadline => break,
            Waited::Late if attempt < YIELDS => std::thread::yield_now(),
            Waited::Late => std::thread::sleep(NAP),
            waited => return Ok(waited),
        }
    }
    Ok(Waited::Late)
}

/// Reaps a thread, or a process of ours. The program itself is never reaped here: the recorder waits for it elsewhere.
pub(crate) fn reap(thread: Tid, is_waited_for: bool) {
    let how_long = if is_waited_for { 0 } else { libc::WNOHANG };
    wait_for(thread, libc::WEXITED | how_long).ok();
}

/// Ends are seen only with `WEXITED`; without, a thread that has ended is one that we have no more.
fn wait_for(thread: Tid, flags: libc::c_int) -> io::Result<Waited> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    loop {
        // SAFETY: `info` is writable for one siginfo_t.
        let result = unsafe {
            libc::waitid(libc::P_PID, thread as libc::id_t, info.as_mut_ptr(), flags | libc::__WALL)
        };
        match (result, io::Error::last_os_error()) {
            (0, _) => break,
            (_, error) if error.kind() == io::ErrorKind::Interrupted => {}
            (_, error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(Waited::Gone),
            (_, error) => return Err(error),
        }
    }
    // SAFETY: `info` was zeroed, which is a valid siginfo_t.
    let info = unsafe { info.assume_init_ref() };
    // SAFETY: waitid fills the child variant of it, which these read.
    let (pid, status, code) = unsafe { (info.si_pid(), info.si_status(), info.si_code) };
    Ok(match code {
        _ if pid == 0 => Waited::Late,
        libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED => Waited::Gone,
        _ => Waited::Stopped(stop_of(status)),
    })
}

/// ptrace(2), "Stopped states": the signal, and above it the event.
fn stop_of(status: libc::c_int) -> Stop {
    match (status >> 8, status & 0xff) {
        (EVENT_STOP, _) => Stop::Asked,
        (0, AT_CALL) => Stop::Call,
        (0, signal) => Stop::Signal(signal),
        (_, _) => Stop::Birth,
    }
}

fn request(what: libc::c_uint, thread: Tid, data: usize) -> io::Result<()> {
    // SAFETY: these requests read no memory of this process; `data` is a number to them.
    check(unsafe { libc::ptrace(what, thread, std::ptr::null_mut::<u8>(), data) })
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_are_told_apart_by_their_event_and_signal() {
        assert_eq!(stop_of(EVENT_STOP << 8 | libc::SIGTRAP), Stop::Asked);
        assert_eq!(stop_of(EVENT_STOP << 8 | libc::SIGSTOP), Stop::Asked);
        assert_eq!(stop_of(libc::SIGTRAP | 0x80), Stop::Call);
        assert_eq!(stop_of(libc::SIGUSR1), Stop::Signal(libc::SIGUSR1));
        assert_eq!(stop_of(libc::PTRACE_EVENT_CLONE << 8 | libc::SIGTRAP), Stop::Birth);
    }

    #[test]
    fn a_thread_that_is_not_ours_is_gone() {
        assert_eq!(wait_until(Tid::MAX, Instant::now()).unwrap(), Waited::Gone);
    }
}
