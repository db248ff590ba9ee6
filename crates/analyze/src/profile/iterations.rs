//! What an iteration of the program is: one of the outermost loop of the user's that made enough of them and covers enough of the run.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use heaplens_format::arena::marks::ENOUGH_ITERATIONS;
use heaplens_format::library_loops::LibraryLoop;
use heaplens_format::main_loop::{Turns, main_loop, of_all_threads};
use heaplens_format::recording::{Code, Loop, MarkKind, Process};
use heaplens_format::{Bytes, CodeId, LoopId, Nanos};

use super::coverage::{Coverage, LEAST_GROWTH};

/// Where no loop ran for longer, in nanoseconds, how long each ran says nothing: any of them may have waited for a CPU.
const MOMENT_NS: u64 = 100_000_000;
/// Then a loop in which memory grew by less than this part of what it grew by in another is none: 1 / 16.
const PART_OF_GROWTH: u64 = 16;

/// A loop that runs often, with so many iterations each time, is a part of what the program does again and again: then each run counts.
const LEAST_OF_RUN: u64 = 2;
/// What iterations are then.
const RUNS: &str = "each a run of the whole loop";

/// The main loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iterations {
    /// Its numbers in the recording, by which its marks are known: one for each thread that ran it, in their order.
    pub of_loops: Vec<LoopId>,
    /// Iterations that began, in all threads; or runs of the whole loop, where something that is not known ran it again and again.
    pub count: u64,
    /// Iterations that the loop itself made.
    pub(crate) of_loop: u64,
    /// Whether that is all of them for sure.
    pub is_exact: bool,
    /// Where the loop is.
    pub file: Arc<str>,
    /// Its line; 0 where it is not known.
    pub line: u32,
    /// The function that it is in.
    pub function: Arc<str>,
    /// What the iterations are, where the loop is a library's: `epochs of Keras`.
    pub steps: Option<&'static str>,
}

/// A mark that is not an iteration of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMark {
    /// What the user calls it; `None` for the end of the script.
    pub label: Option<String>,
    /// Since the start of the run.
    pub at: Nanos,
    /// Live heap bytes.
    pub live: Bytes,
}

impl Iterations {
    /// So many of the loop's own iterations, as they are counted.
    fn unit(&self, iterations: u64) -> u64 {
        match self.of_loop {
            same if same == self.count => iterations,
            all => (u128::from(iterations) * u128::from(self.count) / u128::from(all.max(1))) as u64,
        }
    }

    /// The marks of its iterations by their indices, and how many it had made then, in all threads.
    pub(crate) fn marks<'a>(&'a self, process: &'a Process) -> impl Iterator<Item = (usize, u64)> + 'a {
        let (mut made, mut all) = (vec![0u64; self.of_loops.len()], 0u64);
        let marks = process.marks.iter().enumerate();
        marks.filter_map(move |(index, mark)| {
            let MarkKind::Iteration { of_loop, iterations } = mark.kind else { return None };
            let thread = self.of_loops.binary_search(&of_loop).ok()?;
            all = all.wrapping_sub(made[thread]).wrapping_add(iterations);
            made[thread] = iterations;
            Some((index, self.unit(all)))
        })
    }
}

/// The loop that counts ([`main_loop`]), else the one with most iterations, of those that are enough of the run ([`Coverage`]). A loop that made one
/// iteration is none.
pub(crate) fn iterations(process: &Process) -> Option<Iterations> {
    let loops = turns_of(process);
    let coverage = Coverage::of(process);
    let mut turns = of_all_threads(&loops);
    turns.iter_mut().filter(|one| !coverage.is_enough(one)).for_each(|one| one.iterations = 0);
    prefer_growth(process, &loops, &mut turns);
    let most = || {
        let repeated = (0..turns.len()).filter(|&at| turns[at].iterations > 1);
        repeated.max_by_key(|&at| (turns[at].iterations, Reverse(turns[at].location)))
    };
    let chosen = main_loop(&turns).or_else(most)?;
    let is_same = |&at: &usize| loops[at].identity == loops[chosen].identity;
    let same: Vec<usize> = (0..loops.len()).filter(is_same).collect();
    let one = &process.loops[chosen];
    let code = code_of(process, one).cloned().unwrap_or_default();
    let steps = steps_of(process, one, &code);
    let of_loop = turns[chosen].iterations;
    let runs: u64 = same.iter().map(|&at| process.loops[at].runs).sum();
    let is_run_again = steps.is_none() && runs >= ENOUGH_ITERATIONS && of_loop / LEAST_OF_RUN >= runs;
    Some(Iterations {
        of_loops: same.iter().map(|&at| LoopId::new(at as u32 + 1)).collect(),
        count: if is_run_again { runs } else { of_loop },
        of_loop,
        // A run that allocates nothing leaves no trace.
        is_exact: !is_run_again && same.iter().all(|&at| process.loops[at].is_exact),
        steps: if is_run_again { Some(RUNS) } else { steps },
        file: code.file,
        line: one.line,
        function: code.name,
    })
}

/// Of loops that are over in a moment those count in which memory grew, where there are any.
fn prefer_growth(process: &Process, loops: &[Turns], turns: &mut [Turns]) {
    let longest = turns.iter().filter(|one| one.iterations >= ENOUGH_ITERATIONS).map(Turns::ran).max();
    if longest.is_none_or(|longest| longest >= MOMENT_NS) {
        return;
    }
    let mut ends = BTreeMap::<u64, (Bytes, Bytes)>::new();
    for mark in &process.marks {
        let MarkKind::Iteration { of_loop, .. } = mark.kind else { continue };
        let Some(of) = (of_loop.get() as usize).checked_sub(1).and_then(|at| loops.get(at)) else { continue };
        ends.entry(of.identity).or_insert((mark.live, mark.live)).1 = mark.live;
    }
    let grew =
        |one: &Turns| ends.get(&one.identity).map_or(Bytes::ZERO, |(from, to)| to.saturating_sub(*from));
    let most = turns.iter().map(grew).max().unwrap_or_default();
    if most >= LEAST_GROWTH {
        let is_none = |one: &&mut Turns| grew(one).get() < most.get() / PART_OF_GROWTH;
        turns.iter_mut().filter(is_none).for_each(|one| one.iterations = 0);
    }
}

/// What is known of the loops that one of them is chosen by. A loop is located by its file and line: code objects are numbered as they come.
fn turns_of(process: &Process) -> Vec<Turns> {
    let location = |one: &Loop| (code_of(process, one).map(|code| &code.file), one.line);
    let mut locations: Vec<_> = process.loops.iter().map(location).collect();
    locations.sort_unstable();
    // Where the script was not seen to end, neither were its loops: then none is known.
    let has_ended = process.marks.iter().any(|mark| mark.kind == MarkKind::EndOfScript);
    let mut seen = BTreeMap::<(CodeId, u32, u32), u64>::new();
    let turns = |one: &Loop| Turns {
        around: one.around.and_then(|around| (around.get() as usize).checked_sub(1)),
        thread: one.thread,
        identity: identity(one, &mut seen),
        iterations: one.iterations,
        first: one.first.get(),
        last: one.last.get(),
        is_counted: has_ended && one.is_exact,
        is_of_library: code_of(process, one)
            .is_some_and(|code| LibraryLoop::of(&code.file, &code.name).is_some()),
        location: locations.partition_point(|other| *other < location(one)) as u64,
    };
    process.loops.iter().map(turns).collect()
}

/// Which loop of the code it is, as far as its line says it: of several on one line each thread meets the outer one first.
fn identity(one: &Loop, seen: &mut BTreeMap<(CodeId, u32, u32), u64>) -> u64 {
    const MOST_OF_ONE_LINE: u64 = 16;
    let before = seen.entry((one.code, one.line, one.thread)).or_default();
    *before += 1;
    let line = u64::from(one.code.get()) << 32 | u64::from(one.line);
    line.wrapping_mul(MOST_OF_ONE_LINE).wrapping_add((*before).min(MOST_OF_ONE_LINE) - 1)
}

/// What the iterations of a library's loop are.
fn steps_of(process: &Process, one: &Loop, code: &Code) -> Option<&'static str> {
    let row = LibraryLoop::of(&code.file, &code.name)?;
    let around = one.around.and_then(|around| process.loops.get((around.get() as usize).checked_sub(1)?));
    let is_inside = around.is_some_and(|around| around.code == one.code);
    Some(if is_inside { row.inner } else { row.outer })
}

fn code_of<'a>(process: &'a Process, one: &Loop) -> Option<&'a Code> {
    (one.code.get() as usize).checked_sub(1).and_then(|at| process.codes.get(at))
}

/// The marks of the user's own, and the end of the script.
pub(crate) fn named_marks(process: &Process) -> Vec<NamedMark> {
    let named = process.marks.iter().filter_map(|mark| {
        let label = match &mark.kind {
            MarkKind::Iteration { .. }
            | MarkKind::Test { .. }
            | MarkKind::Interval
            | MarkKind::Run { .. }
            | MarkKind::Section { .. } => {
                return None;
            }
            MarkKind::User { label, .. } => Some(label.clone()),
            MarkKind::EndOfScript => None,
        };
        Some(NamedMark { label, at: mark.at, live: mark.live })
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::recording::Mark;

    fn one(line: u32, around: u32, iterations: u64, last: u64) -> Loop {
        let around = (around > 0).then(|| LoopId::new(around));
        Loop { code: CodeId::new(1), line, around, iterations, last: Nanos::new(last), ..Loop::default() }
    }

    fn line_of(loops: &[Loop]) -> Option<(u32, u64)> {
        let code = Code { name: "main".into(), file: "train.py".into(), first_line: 1 };
        let process = Process { loops: loops.to_vec(), codes: vec![code], ..Process::default() };
        iterations(&process).map(|found| (found.line, found.count))
    }

    #[test]
    fn of_a_loop_that_is_run_again_and_again_each_run_is_an_iteration() {
        let found = |made: u64, runs: u64| {
            let loops = vec![one(1, 0, 5, 900), Loop { runs, ..one(2, 0, made, 900) }];
            let process = Process { loops, ..Process::default() };
            iterations(&process).map(|found| (found.count, found.steps.is_some(), found.unit(made / 2)))
        };
        assert_eq!(found(900, 30), Some((30, true, 15)));
        assert_eq!(found(900, 3), Some((900, false, 450)), "epochs");
        assert_eq!(found(40, 30), Some((40, false, 20)), "of one or two");
    }

    #[test]
    fn the_outermost_loop_with_twenty_iterations_counts() {
        assert_eq!(line_of(&[one(1, 0, 20, 50), one(2, 1, 4000, 50)]), Some((1, 20)));
        assert_eq!(line_of(&[one(1, 0, 19, 50), one(2, 1, 4000, 50)]), Some((2, 4000)));
    }

    #[test]
    fn of_several_the_one_that_ran_for_longest_counts() {
        assert_eq!(line_of(&[one(1, 0, 100_000, 50), one(2, 0, 300, 9000)]), Some((2, 300)));
    }

    #[test]
    fn of_loops_side_by_side_the_first_line_counts_however_long_each_ran_and_whichever_was_seen_first() {
        for (one_ran, other_ran) in [(1000, 1001), (1001, 1000)] {
            let (first, second) = (one(3, 0, 150, one_ran), one(8, 0, 140, other_ran));
            assert_eq!(line_of(&[first, second]), Some((3, 150)));
            assert_eq!(line_of(&[second, first]), Some((3, 150)));
        }
    }

    #[test]
    fn of_loops_that_are_over_in_a_moment_the_one_in_which_memory_grew_counts() {
        let chosen = |waited_ms: u64| {
            let ends = [one(3, 0, 300, 2_000_000), one(8, 0, 53, waited_ms * 1_000_000)];
            let mark = |of_loop: u32, iterations: u64, live: u64| Mark {
                at: Nanos::default(),
                live: Bytes::new(live),
                kind: MarkKind::Iteration { of_loop: LoopId::new(of_loop), iterations },
            };
            let marks = vec![mark(2, 1, 9000), mark(2, 53, 9900), mark(1, 1, 9900), mark(1, 300, 2 << 20)];
            let process = Process { loops: ends.to_vec(), marks, ..Process::default() };
            iterations(&process).map(|found| found.line)
        };
        assert_eq!(chosen(20), Some(3), "the other waited for a CPU");
        assert_eq!(chosen(200), Some(8), "it ran for long");
    }

    #[test]
    fn the_main_threads_loop_counts_before_those_of_its_workers() {
        let of = |thread, loop_: Loop| Loop { thread, ..loop_ };
        let workers = of(2, one(9, 0, 100_000, 1000));
        assert_eq!(line_of(&[workers, of(1, one(1, 0, 30, 900))]), Some((1, 30)));
        assert_eq!(line_of(&[workers, of(1, one(1, 0, 30, 400))]), Some((9, 100_000)));
    }

    #[test]
    fn without_one_that_made_enough_the_one_with_most_iterations_counts() {
        assert_eq!(line_of(&[one(1, 0, 5, 90), one(2, 1, 15, 50)]), Some((2, 15)));
        assert_eq!(line_of(&[one(1, 0, 1, 90)]), None);
        assert_eq!(line_of(&[]), None);
    }

    #[test]
    fn what_several_threads_run_is_one_loop_and_loops_of_one_line_are_not() {
        let of = |thread, one: Loop| Loop { thread, ..one };
        let workers = [of(2, one(9, 0, 15, 900)), of(3, one(9, 0, 14, 950)), of(4, one(9, 0, 13, 990))];
        assert_eq!(line_of(&workers), Some((9, 42)));
        let of_one_line = [one(9, 0, 30, 900), one(9, 1, 600, 900)];
        assert_eq!(line_of(&of_one_line), Some((9, 30)));
    }

    #[test]
    fn iterations_of_a_library_have_a_name_and_those_of_the_user_none() {
        let steps = |file: &str, epochs: u64| {
            let code = Code { name: "Trainer.fit".into(), file: file.into(), first_line: 1 };
            let loops = vec![one(1, 0, epochs, 50), one(2, 1, 4000, 50)];
            let process = Process { loops, codes: vec![code], ..Process::default() };
            iterations(&process).and_then(|found| found.steps)
        };
        let keras = "/venv/lib/python3.11/site-packages/keras/src/backend/jax/trainer.py";
        assert_eq!(steps(keras, 60), Some("epochs of Keras"));
        assert_eq!(steps(keras, 6), Some("batches of Keras"));
        assert_eq!(steps("/home/user/trainer.py", 60), None);
    }

    #[test]
    fn loops_that_are_around_each_other_end_the_search() {
        assert_eq!(line_of(&[one(1, 2, 5, 90), one(2, 1, 30, 50)]), Some((2, 30)));
    }
}
