//! Measures the cost of a leak check: wall time, CPU time (which does not depend on the load of the machine) and memory.

use std::time::{Duration, Instant};

/// A measurement in progress.
#[derive(Debug)]
pub(super) struct Stopwatch {
    started: Instant,
    cpu: Duration,
    resident_kib: u64,
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    /// Wall time.
    pub(super) wall: Duration,
    /// CPU time of this thread.
    pub(super) cpu: Duration,
    /// Peak resident memory of this process, above its resident memory at the start.
    pub(super) peak_kib: u64,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        // proc(5): resets the peak. Where that is not permitted, an earlier peak may be reported.
        std::fs::write("/proc/self/clear_refs", "5").ok();
        Self { started: Instant::now(), cpu: cpu_time(), resident_kib: memory_kib("VmRSS:") }
    }

    pub(super) fn stop(self) -> Cost {
        Cost {
            wall: self.started.elapsed(),
            cpu: cpu_time().saturating_sub(self.cpu),
            peak_kib: memory_kib("VmHWM:").saturating_sub(self.resident_kib),
        }
    }
}

/// Counted by the kernel for every thread (Documentation/scheduler/sched-stats.rst: the first number is nanoseconds).
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
    fn freed_memory_counts_at_its_peak() {
        let stopwatch = Stopwatch::start();
        drop(std::hint::black_box(vec![1_u8; 64 << 20]));
        let cost = stopwatch.stop();
        assert!(cost.peak_kib > 60 << 10, "{cost:?}");
        assert!(cost.wall >= cost.cpu / 2, "{cost:?}");
    }
}
