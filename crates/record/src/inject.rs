//! System calls in the name of a thread that stands still: its registers are changed, it runs one `syscall` instruction that is
//! in its memory already, and is stopped again behind it. When it is let go, it has the registers and the signal mask of before.
//!
//! ```text
//!   stands still ─▶ registers of the call ─▶ call begins ─▶ (a task is born) ─▶ call ends ─▶ asked to stop ─▶ stands still, as before
//! ```
//!
//! The last stop is inside the kernel's handling of signals, as the first one was: there registers that say "interrupted, begin
//! again" are understood, and the program's own call goes on as if nothing had been.

use std::io;

use heaplens_format::{Addr, Pid};

use crate::kernel;
use crate::ptrace::{self, Registers, Stop, Tid, Waited};
use crate::trace::Stopped;

/// `syscall`.
const INSTRUCTION: [u8; 2] = [0x0f, 0x05];
/// Ends of calls are told from signals, and new tasks are stopped before their first instruction.
const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK;
/// All signals.
const ALL: u64 = u64::MAX;
/// The largest error number.
const LAST_ERROR: u64 = 4095;
/// How many pages of code the kernel puts into a process.
const VDSO: usize = 4 * 4096;

/// What came of a call.
#[derive(Debug)]
pub(crate) struct Done {
    /// What it returned.
    pub(crate) value: u64,
    /// The task that it made.
    pub(crate) born: Option<Task>,
}

/// A task of ours, which stands still until it is killed: when this is dropped. Whatever fails, it must not run.
#[derive(Debug)]
pub(crate) struct Task(Tid);

impl Task {
    /// Its number.
    pub(crate) fn number(&self) -> Tid {
        self.0
    }

    /// Waits for it to stand still, before its first instruction.
    pub(crate) fn stopped(&self) -> io::Result<Stopped> {
        loop {
            match ptrace::wait(self.0)? {
                Waited::Stopped(Stop::Asked) => break,
                Waited::Stopped(_) => ptrace::go_on_to_call(self.0, 0)?,
                Waited::Gone | Waited::Late => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
            }
        }
        Ok(Stopped { thread: self.0, registers: ptrace::registers(self.0)? })
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // SAFETY: the process is traced and ours: its number is nobody else's before it is buried.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        ptrace::bury(self.0, true);
    }
}

/// A thread that makes calls for us.
#[derive(Debug)]
pub(crate) struct Injector {
    thread: Tid,
    before: Registers,
    mask: u64,
    instruction: u64,
    /// How it is followed afterwards.
    options: libc::c_int,
    is_touched: bool,
}

impl Injector {
    /// Prepares a thread that is followed with these options otherwise. From now on signals wait.
    pub(crate) fn new(at: &Stopped, instruction: u64, options: libc::c_int) -> io::Result<Self> {
        let (thread, before, mask) = (at.thread, at.registers, ptrace::mask(at.thread)?);
        let injector = Self { thread, before, mask, instruction, options, is_touched: false };
        ptrace::set_options(thread, OPTIONS | options)?;
        ptrace::set_mask(thread, ALL)?;
        Ok(injector)
    }

    /// Makes a call. However long it takes, it is waited for: its thread cannot be left in the middle of it.
    pub(crate) fn call(&mut self, number: libc::c_long, arguments: [u64; 6]) -> io::Result<Done> {
        self.is_touched = true;
        ptrace::set_registers(self.thread, &self.registers_for(number, arguments))?;
        self.run_to_call()?;
        let born = self.run_to_call()?;
        let value = ptrace::registers(self.thread)?.rax;
        match value.wrapping_neg() {
            error @ 1..=LAST_ERROR => Err(io::Error::from_raw_os_error(error as i32)),
            _ => Ok(Done { value, born }),
        }
    }

    fn registers_for(&self, number: libc::c_long, [rdi, rsi, rdx, r10, r8, r9]: [u64; 6]) -> Registers {
        // A call that was interrupted is not begun again now: the thread is, to the kernel, in none.
        let (rax, orig_rax, rip) = (number as u64, u64::MAX, self.instruction);
        Registers { rax, orig_rax, rip, rdi, rsi, rdx, r10, r8, r9, ..self.before }
    }

    /// To the beginning or the end of the call; what was born on the way.
    fn run_to_call(&self) -> io::Result<Option<Task>> {
        let (mut born, mut signal) = (None, 0);
        loop {
            ptrace::go_on_to_call(self.thread, std::mem::take(&mut signal))?;
            match ptrace::wait(self.thread)? {
                Waited::Stopped(Stop::Call) => return Ok(born),
                Waited::Stopped(Stop::Birth) => born = Some(Task(ptrace::born(self.thread)?)),
                // It was asked to stop before, or its whole process is stopped: it goes on for us alone.
                Waited::Stopped(Stop::Asked) => {}
                Waited::Stopped(Stop::Signal(libc::SIGSTOP)) => signal = libc::SIGSTOP,
                Waited::Stopped(Stop::Signal(signal)) => return Err(unexpected(signal)),
                Waited::Gone | Waited::Late => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
            }
        }
    }

    /// Brings the thread to a stop in which its registers count, and gives it back what was its own.
    fn restore(&self) -> io::Result<()> {
        if self.is_touched {
            ptrace::interrupt(self.thread)?;
            ptrace::go_on(self.thread, 0)?;
            while let Waited::Stopped(stop) = ptrace::wait(self.thread)? {
                match stop {
                    Stop::Signal(libc::SIGSTOP) => ptrace::go_on(self.thread, libc::SIGSTOP)?,
                    Stop::Asked | Stop::Signal(_) => break,
                    Stop::Call | Stop::Birth => ptrace::go_on(self.thread, 0)?,
                }
            }
        }
        ptrace::set_registers(self.thread, &self.before)?;
        ptrace::set_mask(self.thread, self.mask)?;
        ptrace::set_options(self.thread, self.options)
    }
}

impl Drop for Injector {
    /// A thread that was killed meanwhile needs nothing back.
    fn drop(&mut self) {
        self.restore().ok();
    }
}

/// Only SIGSTOP and SIGKILL cannot be held back, and what a call raises itself.
fn unexpected(signal: libc::c_int) -> io::Error {
    io::Error::other(format!("signal {signal} came instead of the end of a system call"))
}

/// Where a process has a `syscall` instruction: in the code that the kernel gave it.
pub(crate) fn instruction_of(process: Pid) -> Option<u64> {
    let base = vdso_of(process)?;
    let mut code = vec![0; VDSO];
    let read = kernel::read_memory(process, Addr::new(base), &mut code);
    let at = code[..read].windows(INSTRUCTION.len()).position(|bytes| bytes == INSTRUCTION)?;
    Some(base + at as u64)
}

/// `AT_SYSINFO_EHDR` of `/proc/PID/auxv`, pairs of words.
fn vdso_of(process: Pid) -> Option<u64> {
    let auxiliary = std::fs::read(format!("/proc/{process}/auxv")).ok()?;
    let words = auxiliary.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let words: Vec<u64> = words.collect();
    words.as_chunks::<2>().0.iter().find(|[kind, _]| *kind == libc::AT_SYSINFO_EHDR).map(|[_, value]| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_gives_every_process_an_instruction_that_calls_it() {
        let own = Pid::new(std::process::id());
        let at = instruction_of(own).expect("a vdso");
        let mut bytes = [0; 2];
        assert_eq!(kernel::read_memory(own, Addr::new(at), &mut bytes), 2);
        assert_eq!(bytes, INSTRUCTION);
    }
}
