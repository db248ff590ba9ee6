//! What it takes for a series to be believed to grow: per iteration, per second, by ledgers, by samples. Numbers alone; what is
//! judged by them is said where they are used.

use heaplens_format::arena::marks::ENOUGH_TO_JUDGE;

/// Fewer readings say nothing.
pub(crate) const LEAST_POINTS: usize = ENOUGH_TO_JUDGE as usize;
/// The same for ledgers, which are few and far between, and the rises that there must be.
const LEAST_LEDGERS: usize = 6;
const LEAST_RISES_OF_LEDGERS: f64 = 3.0;

/// Bytes that a rise must have to matter at all, for a line; or a two-thousandth of what is resident.
pub(crate) const LEAST_OF_LINE: f64 = 4096.0;
/// The same for resident memory, which moves by itself; or a hundredth of it.
pub(crate) const LEAST_OF_WHOLE: f64 = (1 << 20) as f64;
/// Bytes that a rise that stopped must have to be worth a word; or a hundredth of what is resident.
pub(crate) const LEAST_TO_STOP: f64 = 65_536.0;

/// What it takes to be believed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// A rise of fewer bytes does not matter.
    pub least_rise: f64,
    /// Bytes that one sample stands for; 0 where every block was recorded.
    pub grain: f64,
    /// How unevenly the rise may be spread over the run, 0 to 1.
    pub most_uneven: f64,
    /// Single rises that there must be.
    pub least_rises: f64,
    /// Readings that there must be.
    pub least_points: usize,
    /// Whether x counts what the program did, not the time that it took.
    pub counts_iterations: bool,
}

impl Thresholds {
    /// Of what is known at marks.
    pub(crate) const OF_ITERATIONS: Self = Self {
        least_rise: LEAST_OF_LINE,
        grain: 0.0,
        most_uneven: 0.2,
        least_rises: 4.0,
        least_points: LEAST_POINTS,
        counts_iterations: true,
    };

    /// A program that reads its input once grows, too: per second only what is very even is believed.
    pub(crate) const OF_SECONDS: Self = Self {
        least_rise: LEAST_OF_WHOLE,
        most_uneven: 0.1,
        least_rises: 10.0,
        counts_iterations: false,
        ..Self::OF_ITERATIONS
    };

    /// The same for what was recorded whole, with another least rise.
    pub(crate) fn of_exact(self, least_rise: f64) -> Self {
        Self { least_rise, grain: 0.0, ..self }
    }

    /// The same for what only ledgers know.
    pub(crate) fn of_ledgers(self) -> Self {
        let least_rises = self.least_rises.min(LEAST_RISES_OF_LEDGERS);
        Self { least_points: LEAST_LEDGERS, least_rises, grain: 0.0, ..self }
    }
}
