//! When snapshots of a running program are taken: first when its memory is seen to grow, then each time its iterations have doubled,
//! and only as long as that costs it next to nothing. What is found is not judged here.
//!
//! The first quarter of the iterations is warm-up. A program has grown when the least of its live bytes, or of its resident memory, rose
//! from the first third of the others to the second, and not much less from there to the last: a cache that fills rises once, and
//! what is allocated and freed has the same minimum. Without a loop what imports add is no growth, however long they take.

use heaplens_format::arena::marks::QUIET_NS;
use heaplens_format::{Bytes, Nanos};

use super::cost::Cost;
use crate::thinning::drop_every_second;

/// The part of the run that snapshots may cost, as a divisor: 2 %.
const PART: u64 = 50;
/// Points that are kept; when there are more, every second one is dropped.
const MOST_POINTS: usize = 96;
/// Fewer are not enough.
const LEAST_POINTS: usize = 12;
/// Iterations, and without a loop time, after which growth may be seen.
const LEAST_ITERATIONS: u64 = 30;
const LEAST_TIME: Nanos = Nanos::new(1_000_000_000);
/// Live bytes that rise by less are noise, of both kinds of growth from one third to the next: a floor, and a part of all.
const LIVE_FLOOR: Bytes = Bytes::new(16 << 10);
const LIVE_PART: u64 = 2000;
/// The same for resident memory.
const RESIDENT_FLOOR: Bytes = Bytes::new(256 << 10);
const RESIDENT_PART: u64 = 200;
/// The time between two points at first, and as a part of the run.
const CLOSEST: Nanos = Nanos::new(40_000_000);
const POINTS_PART: u64 = 100;
/// The expected cost of the first snapshot: a constant, and a part of its resident memory (20 ms for each GiB).
const FIRST_COST: u64 = 2_000_000;
const COST_OF_BYTES: u64 = 50;
/// When the canaries behind blocks are checked for the first time.
const FIRST_CHECK: Nanos = Nanos::new(200_000_000);

/// The longest pause that is expected of a snapshot at the end of a loop, in nanoseconds.
const LONGEST_PAUSE: u64 = 250_000_000;

/// The state of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramState {
    /// Since the start of the run.
    pub(crate) now: Nanos,
    /// Iterations of its main loop; `None` where there is none.
    pub(crate) iterations: Option<u64>,
    /// Live heap bytes.
    pub(crate) live: Bytes,
    /// Resident memory.
    pub(crate) rss: Bytes,
    /// Modules of Python that it has begun to import.
    pub(crate) imports: u32,
}

impl ProgramState {
    /// What is counted: iterations, else time.
    fn progress(&self) -> u64 {
        self.iterations.unwrap_or(self.now.get())
    }

    fn is_far_enough(&self) -> bool {
        self.iterations.map_or(self.now >= LEAST_TIME, |iterations| iterations >= LEAST_ITERATIONS)
    }
}

/// When the next snapshot of one program is due.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    points: Vec<Point>,
    /// Whether the points count iterations.
    has_iterations: bool,
    next_point: Nanos,
    imports: u32,
    /// When the last one was seen.
    imported: Option<Nanos>,
    /// After which progress the next is due; `None` until growth was seen.
    next: Option<u64>,
    /// When the canaries behind blocks are checked next; `None`: they never were.
    next_check: Option<Nanos>,
    spent: u64,
    last: Option<u64>,
    is_over: bool,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    progress: u64,
    live: Bytes,
    rss: Bytes,
}

impl Schedule {
    /// Whether another point is wanted: points are some time apart.
    pub(crate) fn wants_point(&self, now: Nanos) -> bool {
        !self.is_over && now >= self.next_point
    }

    /// Whether a snapshot is due.
    pub(crate) fn is_due(&mut self, state: ProgramState) -> bool {
        self.next_point = Nanos::new(state.now.get() + CLOSEST.get().max(state.now.get() / POINTS_PART));
        // Points of a loop and those of time cannot be compared, nor can those of two loops.
        let restarts = self.points.last().is_some_and(|last| state.progress() < last.progress);
        if self.has_iterations != state.iterations.is_some() || restarts {
            (self.points, self.next) = (Vec::new(), None);
            self.has_iterations = state.iterations.is_some();
        }
        if std::mem::replace(&mut self.imports, state.imports) != state.imports {
            self.imported = Some(state.now);
        }
        let imported = |at: Nanos| state.now.get() - at.get() < QUIET_NS;
        let is_importing = !self.has_iterations && self.imported.is_some_and(imported);
        if is_importing {
            self.points.clear();
        }
        self.keep(state);
        let is_time = match self.next {
            Some(next) => state.progress() >= next,
            None => state.is_far_enough() && self.grows(),
        };
        is_time && !is_importing && self.is_cheap(state)
    }

    /// Whether a snapshot is worth it when the main loop is over, since what its function holds will be gone: memory rose since the first
    /// point, and none was taken in the second half. It may cost more than the others together, but its pause is short.
    pub(crate) fn is_worth_it_at_end(&self, state: ProgramState) -> bool {
        let is_recent = self.next.is_some_and(|next| state.progress() < next);
        let rose = |now: Bytes, before: Bytes, floor: Bytes, part: u64| {
            now.saturating_sub(before) >= floor.max(Bytes::new(now.get() / part))
        };
        let grew = self.points.first().is_some_and(|first| {
            rose(state.live, first.live, LIVE_FLOOR, LIVE_PART)
                || rose(state.rss, first.rss, RESIDENT_FLOOR, RESIDENT_PART)
        });
        !self.is_over && !is_recent && grew && self.expected(state) <= LONGEST_PAUSE
    }

    /// One was begun.
    pub(crate) fn begin(&mut self, state: ProgramState) {
        self.next = Some(state.progress().saturating_mul(2).max(1));
    }

    /// Whether the canaries behind blocks are to be checked: each time that the run has become twice as long.
    pub(crate) fn is_check_due(&self, state: ProgramState) -> bool {
        !self.is_over && state.now >= self.next_check.unwrap_or(FIRST_CHECK) && self.is_cheap(state)
    }

    /// A check was begun.
    pub(crate) fn begin_check(&mut self, now: Nanos) {
        self.next_check = Some(Nanos::new(now.get().saturating_mul(2)));
    }

    /// It is done.
    pub(crate) fn end(&mut self, cost: Cost) {
        self.spent = self.spent.saturating_add(cost.nanos());
        self.last = Some(cost.nanos());
    }

    /// None can be taken of this program.
    pub(crate) fn give_up(&mut self) {
        self.is_over = true;
    }

    fn keep(&mut self, state: ProgramState) {
        if self.points.len() == MOST_POINTS {
            drop_every_second(&mut self.points);
        }
        self.points.push(Point { progress: state.progress(), live: state.live, rss: state.rss });
    }

    fn grows(&self) -> bool {
        let rises = |of: fn(&Point) -> Bytes, floor: Bytes, part: u64| {
            self.least_of_thirds(of).is_some_and(|[first, second, third]| {
                let noise = floor.max(Bytes::new(third.get() / part));
                let (early, late) = (second.saturating_sub(first), third.saturating_sub(second));
                early >= noise && late >= noise && late.get() >= early.get() / 2
            })
        };
        rises(|point| point.live, LIVE_FLOOR, LIVE_PART)
            || rises(|point| point.rss, RESIDENT_FLOOR, RESIDENT_PART)
    }

    /// Thirds of the progress, not of the points: of these the older ones were thinned out.
    fn least_of_thirds(&self, of: fn(&Point) -> Bytes) -> Option<[Bytes; 3]> {
        let (start, last) = (self.points.first()?.progress, self.points.last()?.progress);
        let first = start + (last - start) / 4;
        if self.points.len() < LEAST_POINTS {
            return None;
        }
        let third = |number: u64| first + (last - first) / 3 * number;
        let bounds = [third(0), third(1), third(2), last + 1];
        let least = |number: usize| {
            let inside = |point: &&Point| (bounds[number]..bounds[number + 1]).contains(&point.progress);
            self.points.iter().filter(inside).map(of).min()
        };
        Some([least(0)?, least(1)?, least(2)?])
    }

    fn is_cheap(&self, state: ProgramState) -> bool {
        self.spent.saturating_add(self.expected(state)) <= state.now.get() / PART
    }

    fn expected(&self, state: ProgramState) -> u64 {
        self.last.unwrap_or(FIRST_COST + state.rss.get() / COST_OF_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn state(at_ms: u64, iterations: Option<u64>, live: u64, rss: u64) -> ProgramState {
        ProgramState {
            now: Nanos::new(at_ms * 1_000_000),
            iterations,
            live: Bytes::new(live),
            rss: Bytes::new(rss),
            imports: 0,
        }
    }

    /// The iterations at which snapshots of a program are due, whose live bytes are a function of its iterations, ten of them every 50 ms.
    fn due(iterations: u64, live: impl Fn(u64) -> u64, cost: Cost) -> Vec<u64> {
        let (mut schedule, mut all) = (Schedule::default(), Vec::new());
        for iteration in (0..iterations).step_by(10) {
            let state = state(1000 + iteration * 5, Some(iteration), live(iteration), 30 * MIB);
            if schedule.wants_point(state.now) && schedule.is_due(state) {
                schedule.begin(state);
                schedule.end(cost);
                all.push(iteration);
            }
        }
        all
    }

    const CHEAP: Cost = Cost { pause: Nanos::new(1_000_000), faults: 10 };

    #[test]
    fn growth_has_a_snapshot_early_and_then_at_each_doubling() {
        let all = due(5000, |iteration| MIB + iteration * 4096, CHEAP);
        assert!(all[0] <= 200, "{all:?}");
        assert!(all.windows(2).all(|pair| pair[1] >= 2 * pair[0] && pair[1] <= 2 * pair[0] + 100), "{all:?}");
        assert!(all.len() >= 4, "{all:?}");
    }

    #[test]
    fn canaries_are_checked_each_time_the_run_has_lasted_twice_as_long_if_that_is_cheap() {
        let moments = |cost: Cost| {
            let (mut schedule, mut all) = (Schedule::default(), Vec::new());
            for at_ms in (0..10_000).step_by(20) {
                let state = state(at_ms, None, MIB, 10 * MIB);
                if schedule.is_check_due(state) {
                    schedule.begin_check(state.now);
                    schedule.end(cost);
                    all.push(at_ms);
                }
            }
            all
        };
        assert_eq!(moments(CHEAP), [200, 400, 800, 1600, 3200, 6400]);
        let dear = Cost { pause: Nanos::new(50_000_000), faults: 0 };
        assert_eq!(moments(dear), [200, 5000]);
    }

    #[test]
    fn a_warm_up_and_what_comes_and_goes_are_no_growth() {
        assert_eq!(due(5000, |iteration| MIB + iteration.min(40) * 65536, CHEAP), [0; 0]);
        assert_eq!(due(5000, |iteration| MIB + iteration % 70 * 65536, CHEAP), [0; 0]);
        assert_eq!(due(5000, |_| MIB, CHEAP), [0; 0]);
    }

    #[test]
    fn a_costly_snapshot_waits_until_the_run_is_long_enough() {
        let costly = Cost { pause: Nanos::new(100_000_000), faults: 40_000 };
        let all = due(10_000, |iteration| MIB + iteration * 4096, costly);
        // 200 ms each: the next one when the run took 20 s.
        assert_eq!(all.len(), 3, "{all:?}");
        assert!(1000 + all[1] * 5 >= 20_000 && all[2] >= 2 * all[1], "{all:?}");
    }

    #[test]
    fn the_end_of_a_loop_has_a_snapshot_where_memory_grew_and_none_was_taken_lately() {
        let at = |iteration: u64, live| state(100 + iteration, Some(iteration), live, 30 * MIB);
        let mut schedule = Schedule::default();
        assert!(!schedule.is_worth_it_at_end(at(0, MIB)), "nothing is known");
        assert!(!schedule.is_due(at(0, MIB)) && !schedule.is_due(at(50, 2 * MIB)));
        assert!(!schedule.is_worth_it_at_end(at(60, MIB)), "it did not grow");
        assert!(schedule.is_worth_it_at_end(at(60, 2 * MIB)));
        let large = ProgramState { rss: Bytes::new(20 << 30), ..at(60, 2 * MIB) };
        assert!(!schedule.is_worth_it_at_end(large), "it would pause for too long");
        schedule.begin(at(40, 2 * MIB));
        assert!(
            !schedule.is_worth_it_at_end(at(60, 2 * MIB)) && schedule.is_worth_it_at_end(at(90, 2 * MIB))
        );
    }

    #[test]
    fn resident_memory_outside_of_the_heap_counts_too() {
        let mut schedule = Schedule::default();
        let mut is_due = |second: u64| {
            let at = state(second * 1000, None, MIB, 30 * MIB + second * MIB);
            schedule.wants_point(at.now) && schedule.is_due(at)
        };
        assert!((0..60).any(&mut is_due));
    }

    #[test]
    fn what_imports_add_is_no_growth() {
        let first_due = |imports: fn(u64) -> u32| {
            let mut schedule = Schedule::default();
            (0..60).find(|&second| {
                let at = state(second * 1000, None, MIB + second * MIB, 30 * MIB + second * MIB);
                schedule.is_due(ProgramState { imports: imports(second), ..at })
            })
        };
        let without = first_due(|_| 0).unwrap();
        assert_eq!(first_due(|second| second as u32), None);
        assert_eq!(
            first_due(|second| second.min(20) as u32),
            Some(21 + without),
            "it imports for 20 seconds"
        );
    }

    #[test]
    fn a_program_of_which_none_can_be_taken_is_left_alone() {
        let mut schedule = Schedule::default();
        schedule.give_up();
        assert!(!schedule.wants_point(Nanos::new(u64::MAX)));
    }
}
