//! System calls in the name of a stopped thread: its registers are changed, it runs one `syscall` instruction of the
//! agent, and is stopped again after it. When it is resumed, it has the registers and the signal mask that it had.
//!
//! ```text
//!   stopped ─▶ registers of the call ─▶ call begins ─▶ (a task is born) ─▶ call ends ─▶ asked to stop ─▶ stopped, as before
//! ```
//!
//! The last stop is inside the kernel's handling of signals, as the first one was: there registers that say "interrupted, begin
//! again" are understood, and the program's own call goes on as if nothing had happened.
//!
//! Between any two steps this process may be killed. So a thread of the program first gets a trampoline that it can return by
//! alone ([`Trampoline`]), then the registers that lead there, and its mask last; and it gets its mask back before its registers.

use std::io;

use super::ptrace::{self, Registers, Stop, Tid, Waited};
use super::threads::StoppedThread;
use super::trampoline::Trampoline;

/// Ends of calls are distinct from signals, and new tasks are stopped before their first instruction.
const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK;
/// All signals.
const ALL: u64 = u64::MAX;
/// The largest error number.
const LAST_ERROR: u64 = 4095;

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Done {
    /// What it returned.
    pub(crate) value: u64,
    /// The task that it made.
    pub(crate) born: Option<Task>,
}

/// A task of ours, which stays stopped until it is killed, when this is dropped. Whatever fails, it must not run.
#[derive(Debug)]
pub(crate) struct Task(Tid);

impl Task {
    /// Its number.
    pub(crate) fn number(&self) -> Tid {
        self.0
    }

    /// Sets the options of tracing.
    pub(crate) fn set_options(&self, options: libc::c_int) -> io::Result<()> {
        ptrace::set_options(self.0, options)
    }

    /// Waits until it is stopped, before its first instruction.
    pub(crate) fn stopped(&self) -> io::Result<StoppedThread> {
        loop {
            match ptrace::wait(self.0)? {
                Waited::Stopped(Stop::Asked) => break,
                Waited::Stopped(_) => ptrace::go_on_to_call(self.0, 0)?,
                Waited::Gone | Waited::Late => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
            }
        }
        Ok(StoppedThread { thread: self.0, registers: ptrace::registers(self.0)? })
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // SAFETY: the process is traced and ours: its number is nobody else's before it is reaped.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        ptrace::reap(self.0, true);
    }
}

/// Whose thread it is that makes calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The program's, which goes on whatever happens to us.
    Program,
    /// Ours: when it is left alone it ends.
    Us,
}

/// A thread that makes calls for us.
#[derive(Debug)]
pub(crate) struct Injector {
    at: StoppedThread,
    mask: u64,
    trampoline: Trampoline,
    owner: Owner,
    /// How it is followed afterwards.
    options: libc::c_int,
    is_touched: bool,
}

impl Injector {
    /// Prepares a thread that is followed with these options otherwise.
    pub(crate) fn new(
        at: &StoppedThread,
        trampoline: Trampoline,
        owner: Owner,
        options: libc::c_int,
    ) -> io::Result<Self> {
        let injector =
            Self { at: *at, mask: ptrace::mask(at.thread)?, trampoline, owner, options, is_touched: false };
        ptrace::set_options(at.thread, OPTIONS | options)?;
        if owner == Owner::Program {
            trampoline.prepare(at, injector.mask)?;
        }
        Ok(injector)
    }

    /// Makes a call. However long it takes, it is waited for. From the first one on signals wait.
    pub(crate) fn call(&mut self, number: libc::c_long, arguments: [u64; 6]) -> io::Result<Done> {
        ptrace::set_registers(self.at.thread, &self.registers_for(number, arguments))?;
        if !std::mem::replace(&mut self.is_touched, true) {
            self.of_program(Trampoline::occupy)?;
            ptrace::set_mask(self.at.thread, ALL)?;
        }
        self.run_to_call()?;
        let born = self.run_to_call()?;
        let value = ptrace::registers(self.at.thread)?.rax;
        match value.wrapping_neg() {
            error @ 1..=LAST_ERROR => Err(io::Error::from_raw_os_error(error as i32)),
            _ => Ok(Done { value, born }),
        }
    }

    fn registers_for(&self, number: libc::c_long, [rdi, rsi, rdx, r10, r8, r9]: [u64; 6]) -> Registers {
        // A call that was interrupted is not begun again now: the thread is, to the kernel, in none.
        let rip = match self.owner {
            Owner::Program => self.trampoline.call_and_return,
            Owner::Us => self.trampoline.call_and_end,
        };
        let (rax, orig_rax, rip) = (number as u64, u64::MAX, rip.get());
        Registers { rax, orig_rax, rip, rdi, rsi, rdx, r10, r8, r9, ..self.at.registers }
    }

    /// Runs to the entry or the exit of the call; returns a task that was created in between.
    fn run_to_call(&self) -> io::Result<Option<Task>> {
        let (mut born, mut signal) = (None, 0);
        loop {
            ptrace::go_on_to_call(self.at.thread, std::mem::take(&mut signal))?;
            match ptrace::wait(self.at.thread)? {
                Waited::Stopped(Stop::Call) => return Ok(born),
                Waited::Stopped(Stop::Birth) => born = Some(Task(ptrace::born(self.at.thread)?)),
                // It was asked to stop before, or its whole process is stopped: it goes on for us alone.
                Waited::Stopped(Stop::Asked) => {}
                Waited::Stopped(Stop::Signal(libc::SIGSTOP)) => signal = libc::SIGSTOP,
                Waited::Stopped(Stop::Signal(signal)) => return Err(unexpected(signal)),
                Waited::Gone | Waited::Late => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
            }
        }
    }

    /// Our own tasks never return.
    fn of_program(&self, step: fn(&Trampoline, Tid) -> io::Result<()>) -> io::Result<()> {
        if self.owner == Owner::Program { step(&self.trampoline, self.at.thread) } else { Ok(()) }
    }

    /// Brings the thread to a stop in which its registers count, and gives it back what was its own.
    fn restore(&self) -> io::Result<()> {
        if self.is_touched {
            ptrace::interrupt(self.at.thread)?;
            ptrace::go_on(self.at.thread, 0)?;
            while let Waited::Stopped(stop) = ptrace::wait(self.at.thread)? {
                match stop {
                    Stop::Signal(libc::SIGSTOP) => ptrace::go_on(self.at.thread, libc::SIGSTOP)?,
                    Stop::Asked | Stop::Signal(_) => break,
                    Stop::Call | Stop::Birth => ptrace::go_on(self.at.thread, 0)?,
                }
            }
        }
        ptrace::set_mask(self.at.thread, self.mask)?;
        self.of_program(Trampoline::free)?;
        ptrace::set_registers(self.at.thread, &self.at.registers)?;
        ptrace::set_options(self.at.thread, self.options)
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
