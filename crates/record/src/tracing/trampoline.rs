//! The injection trampoline that the agent keeps ready for a thread that makes a system call in our name, written to and read from
//! the outside: see [`heaplens_format::arena::trampoline`].

use std::io;
use std::mem::offset_of;

use heaplens_format::arena::trampoline::{TRAMPOLINE_WORDS, Trampoline as Layout};
use heaplens_format::{Addr, Bytes, Pid};

use super::ptrace::{self, Registers, Tid};
use super::threads::StoppedThread;
use crate::os::memory;

/// `ERESTARTSYS`, `ERESTARTNOINTR`, `ERESTARTNOHAND` and `ERESTART_RESTARTBLOCK` of the kernel's `errno.h`, which no program ever
/// sees: the call is restarted, the last one through `restart_syscall` for the rest of its time.
const RESTART: [i64; 3] = [-512, -513, -514];
const RESTART_REST: i64 = -516;
/// Bytes of a `syscall` instruction.
const INSTRUCTION: u64 = 2;

/// Where it is, and where its code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trampoline {
    address: Addr,
    /// A `syscall` after which a thread of the program goes back.
    pub(crate) call_and_return: Addr,
    /// A `syscall` after which a task of ours ends.
    pub(crate) call_and_end: Addr,
    code_end: Addr,
    is_occupied: bool,
}

impl Trampoline {
    /// Reads it, where the header of an arena says that it is.
    pub(crate) fn of(process: Pid, address: Addr) -> Option<Self> {
        let mut bytes = [0; TRAMPOLINE_WORDS * 8];
        if memory::read(process, address, &mut bytes) != bytes.len() {
            return None;
        }
        let word = |at: usize| u64::from_le_bytes(bytes.as_chunks::<8>().0[at / 8]);
        let found = Self {
            address,
            call_and_return: Addr::new(word(offset_of!(Layout, call_and_return))),
            call_and_end: Addr::new(word(offset_of!(Layout, call_and_end))),
            code_end: Addr::new(word(offset_of!(Layout, code_end))),
            is_occupied: word(offset_of!(Layout, thread)) != 0,
        };
        (found.call_and_return != Addr::default()).then_some(found)
    }

    /// Whether one of the threads is on it, abandoned by a recorder that was killed.
    pub(crate) fn is_in_use(&self, threads: &[StoppedThread]) -> bool {
        let code = self.call_and_return.min(self.call_and_end)..self.code_end;
        self.is_occupied || threads.iter().any(|thread| code.contains(&Addr::new(thread.registers.rip)))
    }

    /// Saves the state of a thread, so that it can return to it from now on.
    pub(crate) fn prepare(&self, at: &StoppedThread, mask: u64) -> io::Result<()> {
        let resumed = StoppedThread { registers: resumed(&at.registers), ..*at };
        self.write(at.thread, offset_of!(Layout, mask), mask)?;
        self.write(at.thread, offset_of!(Layout, instruction), resumed.registers.rip)?;
        let mut general = resumed.general().into_iter().enumerate();
        let offset = |number: usize| offset_of!(Layout, registers) + 8 * number;
        general.try_for_each(|(number, value)| self.write(at.thread, offset(number), value))
    }

    /// The thread has the registers by which it runs the trampoline.
    pub(crate) fn occupy(&self, thread: Tid) -> io::Result<()> {
        self.write(thread, offset_of!(Layout, thread), thread as u64)
    }

    /// The thread is about to get its own registers back.
    pub(crate) fn free(&self, thread: Tid) -> io::Result<()> {
        self.write(thread, offset_of!(Layout, thread), 0)
    }

    fn write(&self, thread: Tid, offset: usize, word: u64) -> io::Result<()> {
        ptrace::write(thread, self.address + Bytes::new(offset as u64), word)
    }
}

/// The registers with which a thread goes on that was stopped in a call, as the kernel sets them where no signal is handled
/// (arch/x86/kernel/signal.c).
fn resumed(before: &Registers) -> Registers {
    let is_in_call = (before.orig_rax as i64) >= 0;
    let call = match before.rax as i64 {
        value if is_in_call && RESTART.contains(&value) => before.orig_rax,
        RESTART_REST if is_in_call => libc::SYS_restart_syscall as u64,
        _ => return *before,
    };
    Registers { rax: call, rip: before.rip.wrapping_sub(INSTRUCTION), ..*before }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(orig_rax: i64, rax: i64) -> (u64, u64) {
        // SAFETY: registers are numbers, and all zeroes are some.
        let none: Registers = unsafe { std::mem::zeroed() };
        let registers =
            resumed(&Registers { orig_rax: orig_rax as u64, rax: rax as u64, rip: 0x1000, ..none });
        (registers.rax, registers.rip)
    }

    #[test]
    fn an_interrupted_call_is_restarted_and_nothing_else_is() {
        let read = libc::SYS_read;
        assert_eq!(stopped(read, -512), (read as u64, 0x0ffe));
        assert_eq!(stopped(read, -514), (read as u64, 0x0ffe));
        assert_eq!(stopped(libc::SYS_nanosleep, -516), (libc::SYS_restart_syscall as u64, 0x0ffe));
        assert_eq!(stopped(read, 12), (12, 0x1000));
        assert_eq!(stopped(read, -4), (-4i64 as u64, 0x1000));
        assert_eq!(stopped(-1, -512), (-512i64 as u64, 0x1000), "a number of the program's own");
    }
}
