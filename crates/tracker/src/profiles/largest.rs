//! Which sites have a line of their own in a profile: those that hold most, and those that allocated most. An import of TensorFlow
//! leaves half a million sites; a line for each would be 600 MB of text and two seconds in which the program waits.
//!
//! Nothing is sorted: sites are counted by the size of their numbers, four steps for each power of two, and the limit lies in the step
//! where the lines run out.

use crate::tables::sites::{self, Totals};
use crate::tracker::Tracker;

/// Lines for each of both.
const LINES: u32 = 10_000;
const STEPS: usize = 64 * 4;

/// All of higher steps, and so many of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit {
    step: usize,
    left: u32,
}

impl Limit {
    fn of(counts: &[u32; STEPS], lines: u32) -> Self {
        let mut left = lines;
        for (step, &count) in counts.iter().enumerate().rev() {
            match left.checked_sub(count) {
                Some(rest) => left = rest,
                None => return Self { step, left },
            }
        }
        Self { step: 0, left: lines }
    }

    fn takes(&mut self, bytes: u64) -> bool {
        match step(bytes) {
            own if own != self.step => own > self.step,
            _ => {
                let is_room = self.left > 0;
                self.left -= u32::from(is_room);
                is_room
            }
        }
    }
}

/// The limits of what is held and of what was allocated.
pub(super) struct Largest {
    live: Limit,
    allocated: Limit,
}

impl Largest {
    pub(super) fn of(tracker: &Tracker) -> Self {
        let (mut live, mut allocated) = ([0u32; STEPS], [0u32; STEPS]);
        for (_, totals) in sites::all(&tracker.arena) {
            live[step(totals.live.bytes)] += 1;
            allocated[step(totals.allocated.bytes)] += 1;
        }
        live[0] = 0; // nothing
        Self { live: Limit::of(&live, LINES), allocated: Limit::of(&allocated, LINES) }
    }

    pub(super) fn takes(&mut self, totals: Totals) -> bool {
        let holds_much = totals.live.bytes != 0 && self.live.takes(totals.live.bytes);
        self.allocated.takes(totals.allocated.bytes) || holds_much
    }
}

/// Rises with the number.
fn step(bytes: u64) -> usize {
    match bytes {
        0 => 0,
        1..4 => bytes as usize,
        _ => {
            let power = bytes.ilog2();
            (power as usize - 1) * 4 + (bytes >> (power - 2) & 3) as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn steps_rise_with_the_number_and_end_in_time() {
        let mut numbers: Vec<u64> =
            (0..64).flat_map(|power| [1u64 << power, (1 << power) + (1 << power) / 4]).collect();
        numbers.extend([0, u64::MAX]);
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| step(pair[0]) <= step(pair[1])));
        assert!(step(u64::MAX) < STEPS);
        assert!(step(4) > step(3) && step(5) > step(4));
    }

    #[test]
    fn a_limit_takes_as_many_as_there_are_lines_and_the_largest_of_them() {
        let sizes: Vec<u64> = (0..1000).chain([1_000_000; 50]).collect();
        for lines in [0, 1, 50, 60, 500, 1049] {
            let mut counts = [0; STEPS];
            sizes.iter().for_each(|&size| counts[step(size)] += 1);
            let mut limit = Limit::of(&counts, lines);
            let taken: Vec<u64> = sizes.iter().copied().filter(|&size| limit.takes(size)).collect();
            assert_eq!(taken.len() as u32, lines);
            let large = taken.iter().filter(|&&size| size == 1_000_000).count() as u32;
            assert_eq!(large, lines.min(50));
        }
        let mut all = Limit::of(&[1; STEPS], STEPS as u32 + 7);
        assert!(sizes.iter().take(3).all(|&size| all.takes(size)));
    }
}
