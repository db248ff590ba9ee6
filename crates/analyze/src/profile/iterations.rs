//! What an iteration of the program is: one of the outermost loop of the user's that made enough of them and covers enough of the run.

use std::cmp::Reverse;
use std::sync::Arc;

use heaplens_format::library_loops::LibraryLoop;
use heaplens_format::main_loop::{Turns, main_loop};
use heaplens_format::recording::{Code, Loop, MarkKind, Process};
use heaplens_format::{Bytes, LoopId, Nanos};

use super::coverage::Coverage;

/// The main loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iterations {
    /// Its number in the recording, by which its marks are known.
    pub of_loop: LoopId,
    /// Iterations that began.
    pub count: u64,
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

/// The loop that counts ([`main_loop`]), else the one with most iterations, of those that are enough of the run ([`Coverage`]). A loop that made one
/// iteration is none.
pub(crate) fn iterations(process: &Process) -> Option<Iterations> {
    let turns = turns_of(process);
    let most = || {
        let repeated = (0..turns.len()).filter(|&at| turns[at].iterations > 1);
        repeated.max_by_key(|&at| (turns[at].iterations, Reverse(turns[at].location)))
    };
    let chosen = main_loop(&turns).or_else(most);
    let chosen = chosen.map(|at| (LoopId::new(at as u32 + 1), &process.loops[at]));
    chosen.map(|(of_loop, one)| {
        let code = code_of(process, one).cloned().unwrap_or_default();
        Iterations {
            of_loop,
            count: one.iterations,
            is_exact: one.is_exact,
            steps: steps_of(process, one, &code),
            file: code.file,
            line: one.line,
            function: code.name,
        }
    })
}

/// What is known of the loops that one of them is chosen by. A loop is located by its file and line: code objects are numbered as they come.
fn turns_of(process: &Process) -> Vec<Turns> {
    let location = |one: &Loop| (code_of(process, one).map(|code| &code.file), one.line);
    let mut locations: Vec<_> = process.loops.iter().map(location).collect();
    locations.sort_unstable();
    // Where the script was not seen to end, neither were its loops: then none is known.
    let has_ended = process.marks.iter().any(|mark| mark.kind == MarkKind::EndOfScript);
    let coverage = Coverage::of(process);
    let turns = |one: &Loop| Turns {
        around: one.around.and_then(|around| (around.get() as usize).checked_sub(1)),
        thread: one.thread,
        iterations: if coverage.is_enough(one) { one.iterations } else { 0 },
        ran: one.last.get().saturating_sub(one.first.get()),
        is_counted: has_ended && one.is_exact,
        location: locations.partition_point(|other| *other < location(one)) as u64,
    };
    process.loops.iter().map(turns).collect()
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
            | MarkKind::Run { .. } => {
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
    use heaplens_format::CodeId;

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
