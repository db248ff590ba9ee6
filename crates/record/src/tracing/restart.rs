//! Calls of the program that fail with EINTR because its thread was stopped, though it has no signal: signal(7), "Interruption of system
//! calls and library functions by stop signals". The thread makes such a call again, as the kernel lets it make most others; it waits its
//! whole timeout then.

use std::path::Path;

use super::ptrace::{Registers, Tid};

/// Those that return EINTR only where they have done nothing.
const CALLS: [libc::c_long; 20] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_io_getevents,
];

/// Bytes of the instruction `syscall`.
const INSTRUCTION: u64 = 2;
/// What the kernel has for a thread that is in no call.
const NO_CALL: u64 = u64::MAX;

/// The registers with which a stopped thread makes its call again; `None` where nothing is to be made again, or a signal is on its way that
/// the program is to see.
pub(super) fn again(process: Tid, thread: Tid, registers: &Registers) -> Option<Registers> {
    let is_interrupted = registers.rax.wrapping_neg() == libc::EINTR as u64;
    let is_known = || CALLS.iter().any(|&call| registers.orig_rax == call.cast_unsigned());
    if !is_interrupted || !is_known() {
        return None;
    }
    let status = Path::new("/proc").join(format!("{process}/task/{thread}/status"));
    let has_none = !has_signal(&std::fs::read_to_string(status).ok()?)?;
    has_none.then(|| Registers {
        rax: registers.orig_rax,
        orig_rax: NO_CALL,
        rip: registers.rip.wrapping_sub(INSTRUCTION),
        ..*registers
    })
}

/// Whether a signal waits that is not blocked, by a thread's `status`.
fn has_signal(status: &str) -> Option<bool> {
    let set = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(line.strip_prefix(':')?.trim(), 16).ok()
    };
    Some((set("SigPnd")? | set("ShdPnd")?) & !set("SigBlk")? != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers(call: libc::c_long, result: i32) -> Registers {
        // SAFETY: numbers, for which zero is a value.
        let zero: Registers = unsafe { std::mem::zeroed() };
        let (rax, orig_rax) = (i64::from(result).cast_unsigned(), call.cast_unsigned());
        Registers { rax, orig_rax, rip: 0x1002, ..zero }
    }

    /// Of this thread: it has no signal.
    fn again_here(call: libc::c_long, result: i32) -> Option<(u64, u64, u64)> {
        let process = std::process::id() as Tid;
        again(process, process, &registers(call, result)).map(|new| (new.rax, new.orig_rax, new.rip))
    }

    #[test]
    fn a_call_that_a_stop_interrupted_is_made_again() {
        let number = libc::SYS_epoll_wait.cast_unsigned();
        assert_eq!(again_here(libc::SYS_epoll_wait, -libc::EINTR), Some((number, NO_CALL, 0x1000)));
        assert_eq!(again_here(libc::SYS_epoll_wait, 0), None);
        assert_eq!(again_here(libc::SYS_close, -libc::EINTR), None, "it has closed");
    }

    #[test]
    fn a_signal_that_is_not_blocked_is_on_its_way() {
        let status = |thread: &str, process: &str, blocked: &str| {
            has_signal(&format!("Name:\tx\nSigPnd:\t{thread}\nShdPnd:\t{process}\nSigBlk:\t{blocked}\n"))
        };
        assert_eq!(status("0000000000000000", "0000000000000000", "0"), Some(false));
        assert_eq!(status("0000000000000200", "0000000000000000", "0"), Some(true));
        assert_eq!(status("0000000000000000", "0000000000004000", "0"), Some(true));
        assert_eq!(status("0000000000000200", "0000000000000000", "0000000000000200"), Some(false));
        assert_eq!(has_signal("Name:\tx\n"), None);
    }
}
