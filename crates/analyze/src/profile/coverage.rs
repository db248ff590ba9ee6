//! How much of a run a loop covers. A run is counted from the first mark on, of whatever kind: before that modules are imported, which is no
//! work of the program's. Where a library works without any loop of the user's, the recorder marks, so that this counts, too.
//!
//! ```text
//!   imports │ work of a library │ a comprehension │ end           few iterations: a quarter of the time, at least
//!           └ first mark        └ first loop                     twenty or more: a sixteenth of time or growth since the first loop
//! ```

use heaplens_format::arena::marks::ENOUGH_ITERATIONS;
use heaplens_format::main_loop::Turns;
use heaplens_format::recording::{MarkKind, Process, Sample};
use heaplens_format::{Bytes, Nanos};

use super::quiet::quiet_since;

/// A loop with few iterations must cover this part of the run: 1 / 4.
const PART_OF_FEW: u64 = 4;
/// And one with many this part of what comes after the first loop: 1 / 16. What is loaded between two loops must not hide the second, which is
/// why it is far less than a half.
const PART_OF_MANY: u64 = 16;
/// Less time than this outside of a loop is none, in nanoseconds.
const LEAST_ELSEWHERE_NS: u64 = 1_000_000_000;
/// And less growth is none.
pub(super) const LEAST_GROWTH: Bytes = Bytes::new(1 << 20);

/// See the module.
pub(super) struct Coverage<'a> {
    process: &'a Process,
    /// The first mark.
    begin: Nanos,
    /// The first loop.
    first_loop: Nanos,
    end: Nanos,
}

impl<'a> Coverage<'a> {
    pub(super) fn of(process: &'a Process) -> Self {
        let first_loop = process.loops.iter().map(|one| one.first).min().unwrap_or_default();
        let counts = |kind: &MarkKind| matches!(kind, MarkKind::User { .. } | MarkKind::Run { .. });
        let own = process.marks.iter().find(|mark| counts(&mark.kind)).map(|mark| mark.at);
        let begin = [own, quiet_since(process)].into_iter().flatten().fold(first_loop, Nanos::min);
        Self { process, begin, first_loop, end: end_of_script(process) }
    }

    /// Whether a loop is so much of the run that its iterations are those of the program.
    pub(super) fn is_enough(&self, one: &Turns) -> bool {
        if one.iterations < ENOUGH_ITERATIONS {
            return !self.is_less(one, self.begin, PART_OF_FEW);
        }
        !self.is_less(one, self.first_loop, PART_OF_MANY)
            || !self.grew_elsewhere(one, |sample| sample.live)
            || !self.grew_elsewhere(one, |sample| sample.rss)
    }

    /// Whether a loop ran for less than a part of the time from a moment on.
    fn is_less(&self, one: &Turns, since: Nanos, part: u64) -> bool {
        let all = self.end.get().saturating_sub(since.get());
        all.saturating_sub(ran(one)) >= LEAST_ELSEWHERE_NS && ran(one) < all / part
    }

    /// Whether hardly any of the growth since the first loop came while this one ran, from the reading before it to the one after it: a loop may be
    /// over between two.
    fn grew_elsewhere(&self, one: &Turns, value: impl Fn(&Sample) -> Bytes) -> bool {
        let grew = |from: Nanos, to: Nanos| {
            let of = |sample: Option<&Sample>| sample.map_or(Bytes::ZERO, &value);
            of(self.reading_after(to)).saturating_sub(of(self.reading(from)))
        };
        let all = grew(self.first_loop, self.end);
        all >= LEAST_GROWTH
            && grew(Nanos::new(one.first), Nanos::new(one.last)).get() < all.get() / PART_OF_MANY
    }

    /// The first reading from a moment on, else the last one.
    fn reading_after(&self, at: Nanos) -> Option<&Sample> {
        let timeline = &self.process.timeline;
        timeline.get(timeline.partition_point(|sample| sample.at < at)).or(timeline.last())
    }

    /// The last reading up to a moment.
    fn reading(&self, at: Nanos) -> Option<&Sample> {
        let next = self.process.timeline.partition_point(|sample| sample.at <= at);
        next.checked_sub(1).and_then(|last| self.process.timeline.get(last))
    }
}

/// How long a loop ran. One with few iterations was last seen when its last iteration began.
fn ran(one: &Turns) -> u64 {
    let seen = one.ran();
    let is_few = (2..ENOUGH_ITERATIONS).contains(&one.iterations);
    seen + if is_few { seen / (one.iterations - 1) } else { 0 }
}

fn end_of_script(process: &Process) -> Nanos {
    let ended = process.marks.iter().find(|mark| mark.kind == MarkKind::EndOfScript);
    let last = [process.marks.last().map(|mark| mark.at), process.timeline.last().map(|sample| sample.at)];
    ended.map(|mark| mark.at).or_else(|| last.into_iter().flatten().max()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::recording::{Interpreter, Loop, Mark, Reading};

    const MIB: u64 = 1 << 20;

    fn seconds(at: f64) -> Nanos {
        Nanos::new((at * 1e9) as u64)
    }

    fn one(iterations: u64, first: f64, last: f64) -> Loop {
        Loop { iterations, first: seconds(first), last: seconds(last), ..Loop::default() }
    }

    fn mark(at: f64, kind: MarkKind) -> Mark {
        Mark { at: seconds(at), live: Bytes::ZERO, kind }
    }

    /// A script that ends after forty seconds, and is quiet from a moment on.
    fn run(loops: Vec<Loop>, quiet: Option<f64>) -> Process {
        let quiet = quiet.map(|at| mark(at, MarkKind::Interval));
        let marks = quiet.into_iter().chain([mark(40.0, MarkKind::EndOfScript)]).collect();
        let python = Some(Interpreter { major: 3, minor: 12, reading: Reading::Frames });
        Process { loops, marks, python, ..Process::default() }
    }

    /// Which of its loops are enough.
    fn enough(process: &Process) -> Vec<bool> {
        let coverage = Coverage::of(process);
        let turns = |one: &Loop| Turns {
            iterations: one.iterations,
            first: one.first.get(),
            last: one.last.get(),
            ..Turns::default()
        };
        process.loops.iter().map(|one| coverage.is_enough(&turns(one))).collect()
    }

    #[test]
    fn a_few_iterations_after_the_work_of_a_library_are_not_those_of_the_program() {
        assert_eq!(enough(&run(vec![one(6, 39.0, 39.5)], Some(9.0))), [false]);
        assert_eq!(enough(&run(vec![one(6, 15.0, 39.5)], Some(9.0))), [true], "it is most of the work");
        assert_eq!(enough(&run(vec![one(6, 36.0, 39.5)], None)), [true], "what came before were imports");
    }

    #[test]
    fn marks_before_the_interpreter_is_seen_are_no_work() {
        assert_eq!(enough(&run(vec![one(6, 36.0, 39.5)], Some(0.1))), [true]);
    }

    #[test]
    fn a_few_iterations_beside_a_loop_that_covers_the_run_are_not_those_of_the_program() {
        assert_eq!(enough(&run(vec![one(8, 5.0, 36.0), one(6, 39.0, 39.5)], None)), [true, false]);
    }

    #[test]
    fn a_second_beside_a_short_loop_decides_nothing() {
        let mut short = run(vec![one(6, 39.4, 39.45)], Some(39.0));
        assert_eq!(enough(&short), [true]);
        short.marks[0].at = seconds(38.0);
        assert_eq!(enough(&short), [false]);
    }

    /// So many MiB while loops of the first ten seconds ran, and in the thirty seconds after that.
    fn grows(early: u64, late: u64) -> Process {
        let value = |second: u64| early * second.min(10) / 10 + late * second.saturating_sub(10) / 30;
        let sample = |second: u64| {
            let bytes = Bytes::new(MIB * value(second));
            Sample { at: seconds(second as f64), live: bytes, rss: bytes, ..Sample::default() }
        };
        let timeline = (0..=40).map(sample).collect();
        Process { timeline, ..run(vec![one(300, 0.0, 2.0), one(300, 0.0, 10.0)], None) }
    }

    #[test]
    fn many_iterations_count_unless_time_and_growth_are_both_elsewhere() {
        assert_eq!(enough(&grows(100, 9000)), [false, true], "ten seconds are a quarter of the time");
        assert_eq!(enough(&grows(100, 100)), [true, true], "a tenth of the growth");
        assert_eq!(enough(&grows(0, 0)), [true, true], "nothing grew");
    }
}
