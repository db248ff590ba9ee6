//! The end of a child, with what the kernel counted: the CPU time of its tree of processes, and the most memory that one of them had, a
//! peak that no reading in intervals can miss.

use std::io::{Error, Result};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

/// What the kernel says of a child that ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// The peak of the largest process among the child and all descendants that were waited for.
    pub largest_bytes: u64,
    /// What they all computed.
    pub cpu_s: f64,
}

/// Reaps a child if it has ended; it is not to be waited for again.
pub fn try_reap(child: &Child) -> Result<Option<Ended>> {
    let pid = child.id().cast_signed();
    let mut status = 0;
    // SAFETY: `rusage` has only integers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals, and `pid` is a child that nobody else waits for.
    match unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage) } {
        0 => Ok(None),
        reaped if reaped == pid => Ok(Some(Ended {
            status: ExitStatus::from_raw(status),
            largest_bytes: usage.ru_maxrss.cast_unsigned() * 1024,
            cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        })),
        _ => Err(Error::last_os_error()),
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[expect(clippy::zombie_processes, reason = "try_reap waits for it")]
    fn end(script: &str) -> Ended {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        loop {
            if let Some(ended) = try_reap(&child).unwrap() {
                return ended;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_largest_descendant_counts_and_the_status_is_kept() {
        let ended = end(r"(all=$(head -c 50000000 /dev/zero | tr '\0' a)); exit 3");
        assert_eq!(ended.status.code(), Some(3));
        assert!(ended.largest_bytes > 40_000_000, "{}", ended.largest_bytes);
    }
}
