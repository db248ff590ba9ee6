//! Which loop is the main loop, whose iterations a report counts: one rule for whoever watches a run and for whoever reads its recording.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::arena::marks::ENOUGH_ITERATIONS;

/// The thread that had the first event.
const MAIN_THREAD: u32 = 1;

/// What the rule needs to know of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// The loop around it, by its index.
    pub around: Option<usize>,
    /// Its thread.
    pub thread: u32,
    /// Which loop of the code it is: the same in all threads.
    pub identity: u64,
    /// Its iterations.
    pub iterations: u64,
    /// When it was first and when it was last seen, in nanoseconds.
    pub first: u64,
    /// See `first`.
    pub last: u64,
    /// Whether these iterations are known, and not guessed from where the code was.
    pub is_counted: bool,
    /// Whether it is known as one of a library's.
    pub is_of_library: bool,
    /// Where it is: numbers in the order of lines.
    pub location: u64,
}

impl Turns {
    /// How long it ran.
    pub fn ran(&self) -> u64 {
        self.last.saturating_sub(self.first)
    }

    /// It and the same loop in another thread.
    fn with(self, other: &Self) -> Self {
        Self {
            around: self.around.or(other.around),
            thread: self.thread.min(other.thread),
            iterations: self.iterations.saturating_add(other.iterations),
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            is_counted: self.is_counted && other.is_counted,
            ..self
        }
    }
}

/// The loops of the code, whichever threads run them: what workers share is one loop with the iterations of all. The first entry of each
/// has these, and further ones have none.
pub fn of_all_threads(loops: &[Turns]) -> Vec<Turns> {
    let mut first = BTreeMap::<u64, usize>::new();
    let indices = loops.iter().enumerate().map(|(index, one)| *first.entry(one.identity).or_insert(index));
    let indices: Vec<usize> = indices.collect();
    let around = |one: &Turns| one.around.map(|around| indices.get(around).copied().unwrap_or(around));
    let mut all: Vec<Turns> = loops.iter().map(|one| Turns { around: around(one), ..*one }).collect();
    for (index, &first) in indices.iter().enumerate().filter(|(index, first)| *index != **first) {
        let other = core::mem::take(&mut all[index]);
        all[first] = all[first].with(&other);
    }
    all
}

/// The loop that counts, by its index: one with enough iterations and none such around it, which ran for longest, or the main thread's
/// where that ran for half as long, since what other threads do again and again it may have asked for.
///
/// How long a loop ran is never the same twice. So what ran for nearly as long is as good, and among these it is decided by what every run of the
/// program has in common: tasks that take turns run their loops all the time, side by side, and one that is inside another's iteration
/// (what a request makes its server do) makes many for each of these.
pub fn main_loop(loops: &[Turns]) -> Option<usize> {
    let outermost = of_users(outermost(loops));
    let own: Vec<(usize, Turns)> =
        outermost.iter().copied().filter(|(_, one)| one.thread == MAIN_THREAD).collect();
    let any = longest(&outermost)?;
    coarsest(if longest(&own).is_some_and(|own| own >= any / 2) { &own } else { &outermost })
}

/// The user's own, where there are any: a pool's worker makes an iteration for each task that a loop of the user's asks for.
fn of_users(outermost: Vec<(usize, Turns)>) -> Vec<(usize, Turns)> {
    let users: Vec<(usize, Turns)> =
        outermost.iter().copied().filter(|(_, one)| !one.is_of_library).collect();
    if users.is_empty() { outermost } else { users }
}

fn outermost(loops: &[Turns]) -> Vec<(usize, Turns)> {
    let is_enough = |one: &Turns| one.iterations >= ENOUGH_ITERATIONS;
    let around = |one: &Turns| one.around.and_then(|index| loops.get(index));
    // In a recursion loops may be around each other.
    let is_inside = |one: &Turns| {
        core::iter::successors(around(one), |&one| around(one)).take(loops.len()).any(is_enough)
    };
    let all = loops.iter().copied().enumerate();
    all.filter(|(_, one)| is_enough(one) && !is_inside(one)).collect()
}

fn longest(loops: &[(usize, Turns)]) -> Option<u64> {
    loops.iter().map(|(_, one)| one.ran()).max()
}

/// Of those that ran for nearly as long as any the one with the fewest iterations, known ones before guessed ones; of several with about
/// as many the first one in the source.
fn coarsest(loops: &[(usize, Turns)]) -> Option<usize> {
    let longest = longest(loops)?;
    let is_long = |one: &Turns| one.ran() >= longest - longest / 5;
    let knows = loops.iter().any(|(_, one)| is_long(one) && one.is_counted);
    let near: Vec<&(usize, Turns)> =
        loops.iter().filter(|(_, one)| is_long(one) && one.is_counted == knows).collect();
    let fewest = near.iter().map(|(_, one)| one.iterations).min()?;
    let alike = near.into_iter().filter(|(_, one)| one.iterations / 2 <= fewest);
    alike.min_by_key(|(index, one)| (one.location, one.thread, *index)).map(|(index, _)| *index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(thread: u32, around: Option<usize>, iterations: u64, ran: u64) -> Turns {
        Turns { around, thread, iterations, last: ran, ..Turns::default() }
    }

    fn at(location: u64, iterations: u64, ran: u64) -> Turns {
        Turns { location, identity: location, is_counted: true, ..one(1, None, iterations, ran) }
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
        assert_eq!(main_loop(&[one(2, None, 300, 700), worker]), Some(1));
        assert_eq!(main_loop(&[worker, one(1, None, 30, 500)]), Some(1));
        assert_eq!(main_loop(&[worker, one(1, None, 30, 499)]), Some(0));
    }

    #[test]
    fn a_loop_of_a_library_counts_where_none_of_the_users_is_beside_or_around_it() {
        let of_library = |one: Turns| Turns { is_of_library: true, ..one };
        let worker = of_library(one(2, None, 400, 1000));
        assert_eq!(main_loop(&[worker, one(1, None, 400, 10)]), Some(1), "the user's asks for its tasks");
        assert_eq!(main_loop(&[worker]), Some(0));
        assert_eq!(main_loop(&[of_library(one(1, None, 60, 1000)), one(1, Some(0), 400, 10)]), Some(0));
    }

    #[test]
    fn of_loops_side_by_side_the_one_with_fewest_iterations_counts_however_long_each_ran() {
        for (client, rows) in [(1000, 999), (999, 1000), (1000, 810)] {
            assert_eq!(main_loop(&[at(40, 300_000, rows), at(70, 5000, client)]), Some(1));
        }
    }

    #[test]
    fn known_iterations_count_before_guessed_ones() {
        let guessed = Turns { is_counted: false, ..at(10, 600, 1000) };
        assert_eq!(main_loop(&[guessed, at(70, 6000, 990)]), Some(1));
        assert_eq!(main_loop(&[guessed, at(70, 6000, 500)]), Some(0), "but not those of a short one");
    }

    #[test]
    fn of_loops_with_about_as_many_iterations_the_first_in_the_source_counts() {
        for (one, other) in [(5000, 5001), (5001, 5000), (5000, 2600), (2600, 5000)] {
            assert_eq!(main_loop(&[at(70, one, 1000), at(40, other, 999)]), Some(1));
        }
    }

    #[test]
    fn the_loop_of_several_threads_is_one() {
        let worker = |thread, identity, around, iterations, first, last| Turns {
            identity,
            first,
            last,
            is_counted: true,
            ..one(thread, around, iterations, 0)
        };
        let loops = [
            worker(2, 7, None, 12, 10, 20),
            worker(2, 8, Some(0), 900, 10, 20),
            worker(3, 7, None, 15, 15, 40),
            worker(3, 8, Some(2), 800, 15, 40),
        ];
        let all = of_all_threads(&loops);
        assert_eq!(all[0], worker(2, 7, None, 27, 10, 40));
        assert_eq!(all[1], worker(2, 8, Some(0), 1700, 10, 40));
        assert_eq!((all[2], all[3]), (Turns::default(), Turns::default()));
        assert_eq!((main_loop(&all), main_loop(&loops)), (Some(0), Some(3)), "each made too few");
    }

    #[test]
    fn loops_around_each_other_and_loops_in_none_end_the_search() {
        let round = [one(1, Some(1), 50, 1), one(1, Some(0), 60, 1), one(1, Some(77), 30, 1)];
        assert_eq!(main_loop(&round), Some(2));
    }
}
