//! What a look costs: time on the clock, time of the processor, which does not count what neighbours on the machine took, and
//! memory.

use std::time::{Duration, Instant};

/// Since when.
#[derive(Debug)]
pub(super) struct Watch {
    started: Instant,
    cpu: Duration,
    resident_kib: u64,
}

/// What it cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Took {
    /// On the clock.
    pub(super) wall: Duration,
    /// Of the processor, in this thread.
    pub(super) cpu: Duration,
    /// The most memory that this process had meanwhile, above what it had before.
    pub(super) peak_kib: u64,
}

impl Watch {
    pub(super) fn start() -> Self {
        // proc(5): the peak is counted from here on. Where that is not allowed an earlier one may be told.
        std::fs::write("/proc/self/clear_refs", "5").ok();
        Self { started: Instant::now(), cpu: cpu_time(), resident_kib: memory_kib("VmRSS:") }
    }

    pub(super) fn stop(self) -> Took {
        Took {
            wall: self.started.elapsed(),
            cpu: cpu_time().saturating_sub(self.cpu),
            peak_kib: memory_kib("VmHWM:").saturating_sub(self.resident_kib),
        }
    }
}

/// The kernel counts it for every thread (Documentation/scheduler/sched-stats.rst: the first number is nanoseconds).
fn cpu_time() -> Duration {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = line.split(' ').next().and_then(|word| word.parse().ok());
    first.map_or(Duration::ZERO, Duration::from_nanos)
}

fn memory_kib(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_given_back_counts_at_its_peak() {
        let watch = Watch::start();
        drop(std::hint::black_box(vec![1_u8; 64 << 20]));
        let took = watch.stop();
        assert!(took.peak_kib > 60 << 10, "{took:?}");
        assert!(took.wall >= took.cpu / 2, "{took:?}");
    }
}
