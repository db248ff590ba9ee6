//! The time of a run on the clocks that the agent uses: the monotonic clock, and the time stamp counter measured against it.

use heaplens_format::Nanos;

use super::clocks;

/// Over less than this the rate of the counter is not known well: reading both clocks takes ~50 ns.
const SHORTEST: Nanos = Nanos::new(2_000_000);

/// Runs from its creation on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    start: Nanos,
    start_ticks: u64,
}

impl Stopwatch {
    /// Starts it.
    pub(crate) fn start() -> Self {
        Self { start: clocks::monotonic(), start_ticks: clocks::ticks() }
    }

    /// When it was started, on the monotonic clock.
    pub(crate) fn started(&self) -> Nanos {
        self.start
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Nanos {
        since(self.start, clocks::monotonic())
    }

    /// The rate of the time stamp counter; waits for two milliseconds to have passed since the start.
    pub(crate) fn ticks_per_second(&self) -> f64 {
        while self.elapsed() < SHORTEST {
            std::hint::spin_loop();
        }
        let (elapsed, ticks) = (self.elapsed(), clocks::ticks().wrapping_sub(self.start_ticks));
        ticks as f64 * 1e9 / elapsed.get() as f64
    }
}

/// Time from one moment to another, or zero where it would be negative.
pub(crate) fn since(start: Nanos, moment: Nanos) -> Nanos {
    Nanos::new(moment.get().saturating_sub(start.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_has_a_rate_of_this_century() {
        let rate = Stopwatch::start().ticks_per_second();
        assert!((1e8..1e11).contains(&rate), "{rate} ticks per second");
    }

    #[test]
    fn time_does_not_run_backwards() {
        assert_eq!(since(Nanos::new(5), Nanos::new(3)), Nanos::default());
    }
}
