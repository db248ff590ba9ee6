//! Stopping all threads of a process with ptrace, and letting them go again as they were. Nothing in the process is changed:
//! a signal that arrives meanwhile is handed on when its thread goes.

use std::collections::BTreeSet;
use std::io;
use std::mem::MaybeUninit;

use heaplens_format::Pid;

/// How often the list of threads is read again because there were new ones.
const ATTEMPTS: usize = 64;

/// A thread that stands still.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped {
    thread: libc::pid_t,
    /// A signal that it was about to take.
    signal: libc::c_int,
    /// Its stack pointer.
    pub(crate) stack: u64,
    /// Its general registers.
    pub(crate) registers: [u64; REGISTERS],
}

/// rax, rbx, rcx, rdx, rsi, rdi, rbp, r8 to r15.
pub(crate) const REGISTERS: usize = 15;

/// All threads of a process, until it is dropped.
#[derive(Debug)]
pub(crate) struct Threads {
    stopped: Vec<Stopped>,
}

impl Threads {
    /// Stops all threads of a process. When one cannot be stopped, all go on and the reason is given.
    pub(crate) fn stop(process: Pid) -> io::Result<Self> {
        let mut threads = Self { stopped: Vec::new() };
        let mut known = BTreeSet::new();
        for _ in 0..ATTEMPTS {
            let new: Vec<libc::pid_t> =
                list(process)?.into_iter().filter(|thread| known.insert(*thread)).collect();
            if new.is_empty() {
                return Ok(threads);
            }
            threads.stop_all(&new)?;
        }
        Err(io::Error::other("it starts threads faster than they can be stopped"))
    }

    /// Those that stand still.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Stopped> {
        self.stopped.iter()
    }

    fn stop_all(&mut self, threads: &[libc::pid_t]) -> io::Result<()> {
        for &thread in threads {
            match seize(thread).and_then(|()| stopped(thread)) {
                Ok(stopped) => self.stopped.push(stopped),
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {} // it ended meanwhile
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        for stopped in &self.stopped {
            request(libc::PTRACE_DETACH, stopped.thread, stopped.signal as usize).ok();
        }
    }
}

fn list(process: Pid) -> io::Result<Vec<libc::pid_t>> {
    let names = std::fs::read_dir(format!("/proc/{process}/task"))?;
    Ok(names.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

fn seize(thread: libc::pid_t) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, thread, 0)?;
    request(libc::PTRACE_INTERRUPT, thread, 0)
}

/// Waits until a thread stands still.
fn stopped(thread: libc::pid_t) -> io::Result<Stopped> {
    let status = wait(thread)?;
    if !libc::WIFSTOPPED(status) {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // A stop for our sake, or of the whole process, has an event; one without is a signal on its way.
    let signal = if status >> 16 == 0 { libc::WSTOPSIG(status) } else { 0 };
    let user = registers(thread)?;
    let registers = [
        user.rax, user.rbx, user.rcx, user.rdx, user.rsi, user.rdi, user.rbp, user.r8, user.r9, user.r10,
        user.r11, user.r12, user.r13, user.r14, user.r15,
    ];
    Ok(Stopped { thread, signal, stack: user.rsp, registers })
}

fn wait(thread: libc::pid_t) -> io::Result<libc::c_int> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is writable.
        let waited = unsafe { libc::waitpid(thread, &mut status, libc::__WALL) };
        match (waited, io::Error::last_os_error()) {
            (-1, error) if error.kind() == io::ErrorKind::Interrupted => {}
            (-1, error) => return Err(error),
            _ => return Ok(status),
        }
    }
}

fn registers(thread: libc::pid_t) -> io::Result<libc::user_regs_struct> {
    let mut registers = MaybeUninit::<libc::user_regs_struct>::uninit();
    // SAFETY: the kernel fills in the registers of a thread that this one has stopped, and nothing beside them.
    let result = unsafe {
        libc::ptrace(libc::PTRACE_GETREGS, thread, std::ptr::null_mut::<u8>(), registers.as_mut_ptr())
    };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: filled in just now.
    Ok(unsafe { registers.assume_init() })
}

fn request(what: libc::c_uint, thread: libc::pid_t, data: usize) -> io::Result<()> {
    // SAFETY: these requests read no memory of this process; `data` is a number to them.
    let result = unsafe { libc::ptrace(what, thread, std::ptr::null_mut::<u8>(), data) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
