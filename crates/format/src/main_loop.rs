//! Which loop is the main loop, whose iterations a report counts: one rule for whoever watches a run and for whoever reads its recording.

use alloc::vec::Vec;

use crate::arena::marks::ENOUGH_ITERATIONS;

/// The thread that had the first event.
const MAIN_THREAD: u32 = 1;

/// What the rule needs to know of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// The loop around it, by its index.
    pub around: Option<usize>,
    /// Its thread.
    pub thread: u32,
    /// Its iterations.
    pub iterations: u64,
    /// How long it ran.
    pub ran: u64,
}

/// The loop that counts, by its index: among those with enough iterations and none such around them the one that ran for longest,
/// or the main thread's where that ran for half as long, since what other threads do again and again it may have asked for.
pub fn main_loop(loops: &[Turns]) -> Option<usize> {
    let is_enough = |one: &Turns| one.iterations >= ENOUGH_ITERATIONS;
    let around = |one: &Turns| one.around.and_then(|index| loops.get(index));
    // In a recursion loops may be around each other.
    let is_inside = |one: &Turns| {
        core::iter::successors(around(one), |&one| around(one)).take(loops.len()).any(is_enough)
    };
    let all = loops.iter().enumerate();
    let outermost: Vec<(usize, &Turns)> = all.filter(|(_, one)| is_enough(one) && !is_inside(one)).collect();
    let longest = |of_main: bool| {
        let own = outermost.iter().filter(move |(_, one)| !of_main || one.thread == MAIN_THREAD);
        own.max_by_key(|(_, one)| (one.ran, one.iterations)).copied()
    };
    let any = longest(false)?;
    Some(longest(true).filter(|(_, own)| own.ran >= any.1.ran / 2).unwrap_or(any).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(thread: u32, around: Option<usize>, iterations: u64, ran: u64) -> Turns {
        Turns { around, thread, iterations, ran }
    }

    #[test]
    fn the_outermost_loop_with_enough_iterations_counts() {
        assert_eq!(main_loop(&[one(1, None, 20, 50), one(1, Some(0), 4000, 50)]), Some(0));
        assert_eq!(main_loop(&[one(1, None, 19, 50), one(1, Some(0), 4000, 50)]), Some(1));
        assert_eq!(main_loop(&[one(1, None, 19, 50)]), None);
    }

    #[test]
    fn of_several_the_one_that_ran_for_longest_counts_and_the_main_threads_before_it() {
        let worker = one(2, None, 100_000, 1000);
        assert_eq!(main_loop(&[one(2, None, 300, 900), worker]), Some(1));
        assert_eq!(main_loop(&[worker, one(1, None, 30, 500)]), Some(1));
        assert_eq!(main_loop(&[worker, one(1, None, 30, 499)]), Some(0));
    }

    #[test]
    fn loops_around_each_other_and_loops_in_none_end_the_search() {
        let round = [one(1, Some(1), 50, 1), one(1, Some(0), 60, 1), one(1, Some(77), 30, 1)];
        assert_eq!(main_loop(&round), Some(2));
    }
}
