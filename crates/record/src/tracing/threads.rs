//! Stopping all threads of a process, and letting them go again as they were. Nothing in the process is changed: a signal that arrives
//! meanwhile is handed on.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use heaplens_format::arena::trampoline::GENERAL_REGISTERS;
use heaplens_format::{Addr, Pid};
use heaplens_snapshot::ThreadState;

use super::ptrace::{self, Registers, Stop, Tid, Waited};
use super::restart;
use crate::os::is_refusal;
use crate::os::procfs;

/// How long threads of a running program may take to stop. One that waits for a child of `vfork`, or for a disk, does not.
pub(crate) const TIMEOUT: Duration = Duration::from_millis(100);
/// The same when somebody asked for it.
pub(crate) const TIMEOUT_ASKED: Duration = Duration::from_secs(1);
/// The same for one that waits at its end and has nothing else to do.
pub(crate) const TIMEOUT_AT_END: Duration = Duration::from_secs(5);
/// How often the list of threads is read again because there were new ones.
const ATTEMPTS: usize = 64;

/// A stopped thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoppedThread {
    /// Its number.
    pub(crate) thread: Tid,
    /// All its registers.
    pub(crate) registers: Registers,
}

impl StoppedThread {
    /// Its stack pointer.
    pub(crate) fn stack(&self) -> Addr {
        Addr::new(self.registers.rsp)
    }

    /// What finds its functions and its thread-local variables.
    pub(crate) fn state(&self) -> ThreadState {
        let of = &self.registers;
        ThreadState {
            thread: self.thread as u32,
            instruction: of.rip,
            stack: of.rsp,
            preserved: [of.rbx, of.rbp, of.r12, of.r13, of.r14, of.r15],
            control_block: of.fs_base,
        }
    }

    /// Its general registers without the stack pointer: rax, rbx, rcx, rdx, rsi, rdi, rbp, r8 to r15.
    pub(crate) fn general(&self) -> [u64; GENERAL_REGISTERS] {
        let of = &self.registers;
        [
            of.rax, of.rbx, of.rcx, of.rdx, of.rsi, of.rdi, of.rbp, of.r8, of.r9, of.r10, of.r11, of.r12,
            of.r13, of.r14, of.r15,
        ]
    }
}

/// Why threads cannot be stopped.
#[derive(Debug, thiserror::Error)]
pub enum NotStopped {
    /// The kernel does not let us.
    #[error("the kernel does not allow it: {0}")]
    Refused(#[from] io::Error),
    /// Some did not stop in time.
    #[error("one of them did not stop within {} ms: it waits for a disk or for a vfork child", timeout.as_millis())]
    Late {
        /// The timeout.
        timeout: Duration,
    },
    /// There was always a new one.
    #[error("new ones are started faster than they can be stopped")]
    TooMany,
    /// It has ended.
    #[error("the process has exited")]
    Gone,
}

/// How long a tracer is given to leave before it is checked again whether it did.
const SLEEP: Duration = Duration::from_millis(1);

/// Attaches to a thread. While somebody else is attached, such as its recorder that takes a snapshot, that is waited for.
fn seize(thread: Tid, deadline: Instant) -> io::Result<()> {
    loop {
        match ptrace::seize(thread) {
            Err(error) if is_refusal(&error) && procfs::is_traced(thread) => {
                if Instant::now() >= deadline {
                    return Err(error);
                }
                std::thread::sleep(SLEEP);
            }
            // The other one may have left between the two.
            Err(error) if is_refusal(&error) => return ptrace::seize(thread),
            done => return done,
        }
    }
}

/// All threads of a process, until it is dropped, by the thread that stopped them.
#[derive(Debug)]
pub(crate) struct Threads {
    process: Tid,
    stopped: Vec<StoppedThread>,
    /// When the first was asked to stop.
    since: Instant,
    /// How long they may take.
    timeout: Duration,
}

impl Threads {
    /// Stops all threads of a process. When one cannot be stopped, all go on and the reason is given.
    pub(crate) fn stop(process: Pid, timeout: Duration) -> Result<Self, NotStopped> {
        let (process_number, since) = (process.get() as Tid, Instant::now());
        let mut threads = Self { process: process_number, stopped: Vec::new(), since, timeout };
        let deadline = since + timeout;
        let mut known = BTreeSet::new();
        for _ in 0..ATTEMPTS {
            let new: Vec<Tid> = list(process)?.into_iter().filter(|thread| known.insert(*thread)).collect();
            if new.is_empty() {
                return if threads.stopped.is_empty() { Err(NotStopped::Gone) } else { Ok(threads) };
            }
            threads.stop_all(&new, deadline)?;
        }
        Err(NotStopped::TooMany)
    }

    /// The stopped threads.
    pub(crate) fn all(&self) -> &[StoppedThread] {
        &self.stopped
    }

    /// When the first of them was asked to stop.
    pub(crate) fn started(&self) -> Instant {
        self.since
    }

    /// All are attached to before the first has to wait for the others.
    fn stop_all(&mut self, threads: &[Tid], deadline: Instant) -> Result<(), NotStopped> {
        let mut traced = Vec::with_capacity(threads.len());
        for &thread in threads {
            match seize(thread, deadline) {
                Ok(()) => traced.push(thread),
                Err(_) if self.has_ended(thread) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.stopped.is_empty() {
            self.since = Instant::now();
        }
        // One that exits in the meantime is found below.
        traced.iter().for_each(|&thread| drop(ptrace::interrupt(thread)));
        traced.iter().try_for_each(|&thread| self.wait_for(thread, deadline))
    }

    /// A thread that is about to take a signal takes it, and stops before the first instruction of its handler: it was asked to.
    fn wait_for(&mut self, thread: Tid, deadline: Instant) -> Result<(), NotStopped> {
        loop {
            let resumed = match ptrace::wait_until(thread, deadline)? {
                Waited::Stopped(Stop::Asked) => break,
                Waited::Stopped(Stop::Signal(signal)) => ptrace::go_on(thread, signal),
                Waited::Stopped(Stop::Call | Stop::Birth) => ptrace::go_on(thread, 0),
                Waited::Gone => {
                    self.reap(thread);
                    return Ok(());
                }
                Waited::Late => return Err(NotStopped::Late { timeout: self.timeout }),
            };
            // One that is killed while it is stopped is found by the next wait.
            resumed.ok();
        }
        match ptrace::registers(thread) {
            Ok(registers) => {
                let registers = self.without_interruption(thread, registers)?;
                self.stopped.push(StoppedThread { thread, registers });
            }
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {} // killed meanwhile
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// The registers that the thread goes on with, which it has from now on: whatever happens to us, it makes the call again that we interrupted.
    fn without_interruption(&self, thread: Tid, registers: Registers) -> io::Result<Registers> {
        let Some(again) = restart::again(self.process, thread, &registers) else { return Ok(registers) };
        match ptrace::set_registers(thread, &again) {
            Err(error) if error.raw_os_error() != Some(libc::ESRCH) => Err(error),
            _ => Ok(again),
        }
    }

    /// The first thread is the process: the recorder waits for its end elsewhere.
    fn reap(&self, thread: Tid) {
        if thread != self.process {
            ptrace::reap(thread, false);
        }
    }

    /// A thread that has ended and is still listed, as the first one is while others run, cannot be attached to.
    fn has_ended(&self, thread: Tid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/task/{thread}/stat", self.process));
        let state = stat.ok().and_then(|stat| Some(stat.rsplit_once(") ")?.1.chars().next()));
        matches!(state.flatten(), None | Some('Z' | 'X'))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        for stopped in &self.stopped {
            // One that was killed in the meantime cannot be detached from.
            if ptrace::detach(stopped.thread, 0).is_err() {
                self.reap(stopped.thread);
            }
        }
    }
}

fn list(process: Pid) -> Result<Vec<Tid>, NotStopped> {
    let names = std::fs::read_dir(format!("/proc/{process}/task")).map_err(|_| NotStopped::Gone)?;
    Ok(names.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::tracing::Tracer;

    fn stopped(process: Pid, timeout: Duration) -> Result<((), Tracer), NotStopped> {
        Tracer::start(move || Ok(((), Threads::stop(process, timeout)?)))
    }

    #[test]
    fn a_tracer_waits_until_another_has_detached() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat starts");
        let process = Pid::new(child.id());
        let (_, first) = stopped(process, TIMEOUT_AT_END).expect("it stops");
        let refused = stopped(process, Duration::ZERO).map(|_| ());
        assert!(matches!(&refused, Err(NotStopped::Refused(why)) if is_refusal(why)), "{refused:?}");
        let second = std::thread::spawn(move || stopped(process, Duration::from_secs(600)).map(drop));
        drop(first);
        second.join().expect("no panic").expect("it stops again");
        drop(child.stdin.take());
        assert!(child.wait().expect("cat ends").success());
    }
}
