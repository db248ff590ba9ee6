//! Clocks: the monotonic one, which the agent reads too, CPU time of processes, and the time stamp counter.

use heaplens_format::{Nanos, Pid};

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

/// The time stamp counter, in whose ticks the agent counts its own cost.
pub(crate) fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and it touches no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_clock_of_this_process_can_be_read() {
        assert!(cpu_of(Pid::new(std::process::id())).is_some_and(|cpu| cpu.get() > 0));
    }
}
