//! Poisson sampling of bytes: each byte is a sample with probability 1/N, independently.
//!
//! A block of s bytes is recorded when one of its bytes is, with probability p = 1 − e^(−s/N), and then stands for 1/p
//! blocks and s/p bytes, which makes every sum unbiased. The distance to the next sampled byte is exponential with mean
//! N, so a thread needs one subtraction per allocation.

use heaplens_format::Bytes;
use heaplens_format::arena::table::SAMPLED_BLOCK;

use super::weight::Weight;

/// The weight of a block in an exact run.
#[inline(always)]
pub const fn exact(size: Bytes) -> Weight {
    Weight { bytes: size.get(), blocks: 1 }
}

/// The weight of a sampled block, a function of its size alone, so that its end takes off what its begin put on.
#[cold]
pub fn weight(size: Bytes, interval: u64) -> Weight {
    let probability = probability(size, interval);
    let size = size.get().max(1) as f64;
    let (bytes, blocks) = (size / probability, SAMPLED_BLOCK as f64 / probability);
    Weight { bytes: (bytes + 0.5) as u64, blocks: (blocks + 0.5) as u64 }
}

/// How likely a block is a sample.
pub fn probability(size: Bytes, interval: u64) -> f64 {
    one_minus_exp(size.get().max(1) as f64 / interval as f64)
}

/// splitmix64: every state gives a good number, also the first ones after a poor seed.
pub fn mix(state: u64) -> u64 {
    let mut mixed = state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Bytes until the next sample of one thread. All zero: not drawn yet, so nothing passes by.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Distance {
    left: u64,
    state: u64,
}

impl Distance {
    /// The first distance of a thread; `seed` tells threads apart.
    pub fn new(seed: u64, interval: u64) -> Self {
        let mut distance = Self { left: 0, state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 };
        distance.draw(interval);
        distance
    }

    /// Nobody's: nothing passes by.
    pub const NONE: Self = Self { left: 0, state: 0 };

    /// Whether a block of this size is a sample.
    #[inline(always)]
    pub fn passes(&mut self, size: Bytes, interval: u64) -> bool {
        let is_sample = !self.passes_by(size);
        if is_sample {
            self.draw(interval);
        }
        is_sample
    }

    /// Whether a block of this size is no sample; if so, it is counted off. Else nothing has changed.
    #[inline(always)]
    pub fn passes_by(&mut self, size: Bytes) -> bool {
        let size = size.get().max(1);
        let passes_by = size < self.left;
        if passes_by {
            self.left -= size;
        }
        passes_by
    }

    #[cold]
    fn draw(&mut self, interval: u64) {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = mix(self.state);
        let uniform = ((mixed >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
        // Rounded up: the sampled byte is the `left`-th from here, and the first is number 1.
        self.left = (-natural_log(uniform) * interval as f64) as u64 + 1;
    }
}

/// 1/n, from n = 1 on: a division takes the time of many multiplications.
const INVERSES: [f64; 32] = {
    let (mut inverses, mut n) = ([0.0; 32], 1);
    while n < inverses.len() {
        inverses[n] = 1.0 / n as f64;
        n += 1;
    }
    inverses
};

/// 1 − e^(−x) for x ≥ 0, to about 14 digits; core has no `exp`.
fn one_minus_exp(x: f64) -> f64 {
    if x > 40.0 {
        return 1.0;
    }
    // Halve until the series is short, then square back: 1 − e^(−2y) = t·(2 − t) with t = 1 − e^(−y).
    let (mut y, mut halvings) = (x, 0);
    while y > 0.125 {
        y *= 0.5;
        halvings += 1;
    }
    let mut term = y;
    let mut sum = y;
    for inverse in &INVERSES[2..14] {
        term *= -y * inverse;
        sum += term;
    }
    for _ in 0..halvings {
        sum *= 2.0 - sum;
    }
    sum
}

/// ln x for 0 < x ≤ 1, to about 14 digits; core has no `ln`.
fn natural_log(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) as i64 - 1023) as f64;
    let mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000);
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    let (mut power, mut sum) = (ratio, 0.0);
    for inverse in INVERSES.iter().skip(1).step_by(2) {
        sum += power * inverse;
        power *= square;
    }
    2.0 * sum + exponent * core::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_that_core_lacks_equal_those_of_std() {
        for n in 1..2000 {
            let x = f64::from(n) * 0.013;
            assert!((one_minus_exp(x) - (-(-x).exp_m1())).abs() < 1e-13, "{x}");
            let y = f64::from(n) / 2000.0;
            assert!((natural_log(y) - y.ln()).abs() < 1e-12, "{y}");
        }
        assert!((one_minus_exp(1e-9) / 1e-9 - 1.0).abs() < 1e-8);
    }

    #[test]
    fn estimates_are_unbiased_for_small_and_for_large_blocks() {
        const INTERVAL: u64 = 4096;
        for size in [1u64, 24, 100, 4096, 10_000, 100_000] {
            let (mut distance, mut bytes, mut blocks) = (Distance::new(size, INTERVAL), 0u64, 0u64);
            let rounds = 400_000_000 / (size + 1000);
            for _ in 0..rounds {
                if distance.passes(Bytes::new(size), INTERVAL) {
                    let weight = weight(Bytes::new(size), INTERVAL);
                    bytes += weight.bytes;
                    blocks += weight.blocks;
                }
            }
            let truth = (size * rounds) as f64;
            // Five standard deviations of a sum with variance N·B, B = truth.
            let bound = 5.0 * (INTERVAL as f64 * truth).sqrt() / truth;
            assert!((bytes as f64 / truth - 1.0).abs() < bound, "{size}: {bytes} for {truth}");
            let count = blocks as f64 / SAMPLED_BLOCK as f64 / rounds as f64;
            assert!((count - 1.0).abs() < bound, "{size}: {count}");
        }
    }
}
