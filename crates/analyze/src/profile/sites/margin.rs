//! How far a sampled number may be from the truth.
//!
//! A byte is a sample point with probability 1/N, independently of all others (N is the mean distance), so a block of
//! s bytes is recorded with probability p = 1 − e^(−s/N), independently of all other blocks, and counts as 1/p blocks
//! and s/p bytes. The sum over the recorded blocks is the Horvitz–Thompson estimator: it has no bias, and its variance
//! is a sum over *all* blocks, recorded or not,
//!
//! ```text
//!   Var(bytes)  = Σ s² (1 − p)/p = Σ s² / (e^(s/N) − 1) = N² Σ h(s/N)     with h(x) = x² / (e^x − 1)
//!   Var(blocks) = Σ    (1 − p)/p = Σ  1 / (e^(s/N) − 1)
//! ```
//!
//! A site gives B bytes in C blocks, not each s. **Bytes:** h rises as x − x²/2 + …, is concave up to its maximum
//! h(1.5936) = 0.6476, and falls beyond it. So with m = B/C/N, Jensen's inequality bounds the sum by C·h(m) up to that
//! maximum, and by C·0.6476 beyond it, whatever the sizes are:
//!
//! ```text
//!   Var(bytes) ≤ C N² h(min(B/C/N, 1.5936))
//! ```
//!
//! Blocks much smaller than N make this N·B, the well-known figure; a single huge block gives at most 0.65 N².
//! **Blocks:** 1/(e^x − 1) has no upper bound from the mean alone, so the blocks of one site are taken to be of like
//! size (they mostly are: they come from one line): Var(blocks) = C / (e^m − 1), for small blocks N·C²/B.
//!
//! Sites add up (they are independent), and 1.96 standard deviations on either side hold 95 %. B and C are themselves
//! the estimates, and a sum of few samples is not yet normal: below some ten samples a margin is a rough one.

use heaplens_format::Bytes;
use heaplens_format::recording::Amount;

/// Standard deviations on either side that hold 95 % of a normal distribution.
const DEVIATIONS: f64 = 1.96;
/// Where h has its maximum: the solution of x = 2 (1 − e^(−x)).
const H_PEAK: f64 = 1.593_624_26;

/// How far a sampled amount may be from the truth, to either side, at 95 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Margin {
    /// In bytes.
    pub bytes: Bytes,
    /// In blocks.
    pub blocks: u64,
}

impl Margin {
    /// The margin of the sum of two independent amounts.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let both = |one: u64, other: u64| (one as f64).hypot(other as f64).ceil() as u64;
        Self {
            bytes: Bytes::new(both(self.bytes.get(), other.bytes.get())),
            blocks: both(self.blocks, other.blocks),
        }
    }
}

/// The variance of an amount; variances of independent amounts add up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Variance {
    bytes: f64,
    blocks: f64,
}

impl Variance {
    /// Of the amount of one site, sampled with this mean distance.
    pub(super) fn of(amount: Amount, interval: Bytes) -> Self {
        if amount.blocks == 0 || amount.bytes == Bytes::ZERO || interval == Bytes::ZERO {
            return Self::default();
        }
        let (blocks, interval) = (amount.blocks as f64, interval.get() as f64);
        let mean = amount.bytes.get() as f64 / blocks / interval;
        Self { bytes: blocks * interval * interval * h(mean.min(H_PEAK)), blocks: blocks / mean.exp_m1() }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.blocks += other.blocks;
    }

    pub(super) fn margin(self) -> Margin {
        let width = |variance: f64| (DEVIATIONS * variance.sqrt()).ceil() as u64;
        Margin { bytes: Bytes::new(width(self.bytes)), blocks: width(self.blocks) }
    }
}

fn h(x: f64) -> f64 {
    x * x / x.exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    const INTERVAL: u64 = 512 * 1024;

    fn amount(bytes: u64, blocks: u64) -> Amount {
        Amount { bytes: Bytes::new(bytes), blocks }
    }

    fn margin(bytes: u64, blocks: u64) -> Margin {
        Variance::of(amount(bytes, blocks), Bytes::new(INTERVAL)).margin()
    }

    #[test]
    fn small_blocks_have_the_well_known_margin() {
        let bytes = 100u64 << 20;
        let expected = 1.96 * (INTERVAL as f64 * bytes as f64).sqrt();
        let found = margin(bytes, bytes / 64).bytes.get() as f64;
        assert!((found / expected - 1.0).abs() < 0.001, "{found} is not near {expected}");
    }

    #[test]
    fn one_huge_block_is_known_to_less_than_two_intervals() {
        assert!(margin(1 << 30, 1).bytes.get() < 2 * INTERVAL);
        assert_eq!(margin(1 << 30, 1).blocks, 0);
    }

    #[test]
    fn nothing_has_no_margin() {
        assert_eq!(margin(0, 0), Margin::default());
    }

    #[test]
    fn h_is_largest_where_the_module_says() {
        assert!(h(H_PEAK) > h(H_PEAK - 0.01) && h(H_PEAK) > h(H_PEAK + 0.01));
        assert!((h(H_PEAK) - 0.6476).abs() < 0.0001);
    }

    /// Samples the same blocks many times and counts how often the truth lies within the margin.
    #[test]
    fn about_95_of_100_sampled_runs_lie_within_the_margin() {
        let (size, blocks, interval, runs) = (1_000u64, 20_000u64, 50_000.0, 400);
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let within = (0..runs).filter(|_| {
            let p = -(-(size as f64) / interval).exp_m1();
            let hits = (0..blocks).filter(|_| dice.roll() < p).count() as f64;
            let estimate = amount((hits * size as f64 / p) as u64, (hits / p) as u64);
            let margin = Variance::of(estimate, Bytes::new(interval as u64)).margin();
            estimate.bytes.get().abs_diff(size * blocks) <= margin.bytes.get()
                && estimate.blocks.abs_diff(blocks) <= margin.blocks
        });
        let within = within.count();
        assert!((365..=395).contains(&within), "{within} of {runs}");
    }
}
