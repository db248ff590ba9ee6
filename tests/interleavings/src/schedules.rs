//! Which schedules a scenario is run in, and the threads of a scenario.

use std::cell::Cell;

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner, current, thread};

/// Any number will do, as long as it stays.
const SEED: u64 = 0x6865_6170_6c65_6e73;
/// PCT changes the order of precedence of the threads one time less than this in a schedule.
const PCT_DEPTH: usize = 4;
/// Far beyond the end of every scenario: who comes here runs in a circle.
const MOST_POINTS: usize = 100_000;
/// Who comes here may be waiting for another thread, which PCT would never let go on by itself.
const MOST_POINTS_ALONE: usize = 1_000;

thread_local! {
    /// Whether this thread of the test runs the threads of a scenario just now.
    static TOGETHER: Cell<bool> = const { Cell::new(false) };
    /// The thread of the scenario that had the last point, and how many it had without another one's between.
    static ALONE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// Shuttle changes threads at operations on its own atomics; this one has no other purpose.
    static TURNSTILE: AtomicBool = const { AtomicBool::new(false) };
}

/// Runs a scenario in every interleaving; there must be fewer than `limit`.
pub fn in_all(limit: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let schedules = run(DfsScheduler::new(Some(limit), false), scenario);
    assert!(schedules < limit, "{limit} interleavings are not all");
}

/// Runs a scenario in so many random interleavings, and in as many with few changes of thread.
pub fn in_many(count: usize, scenario: impl Fn() + Send + Sync + Clone + 'static) {
    run(RandomScheduler::new_from_seed(SEED, count), scenario.clone());
    run(PctScheduler::new_from_seed(SEED, PCT_DEPTH, count), scenario);
}

fn run(scheduler: impl Scheduler + 'static, scenario: impl Fn() + Send + Sync + 'static) -> usize {
    heaplens_format::atomic::at_every_operation(point);
    let mut config = Config::new();
    config.stack_size = 128 << 10;
    config.max_steps = MaxSteps::FailAfter(MOST_POINTS);
    config.failure_persistence = FailurePersistence::Print;
    Runner::new(scheduler, config).run(scenario)
}

/// Here the scheduler may choose another thread. One that goes on and on has to let the others go on.
fn point() {
    if !TOGETHER.get() {
        return;
    }
    let me = usize::from(current::me());
    let (last, points) = ALONE.get();
    let points = if last == me { points + 1 } else { 0 };
    ALONE.set((me, points));
    if points > MOST_POINTS_ALONE {
        ALONE.set((me, 0));
        thread::yield_now();
    } else {
        TURNSTILE.with(|turnstile| turnstile.load(Ordering::SeqCst));
    }
}

/// What one thread of a scenario does.
pub type Part<R> = Box<dyn FnOnce() -> R + Send>;

/// A part in its box.
pub fn part<R>(work: impl FnOnce() -> R + Send + 'static) -> Part<R> {
    Box::new(work)
}

/// Runs parts, each in a thread; their results. Before and after there is one thread, and no point.
pub fn together<R: Send + 'static, const N: usize>(parts: [Part<R>; N]) -> [R; N] {
    TOGETHER.set(true);
    let threads = parts.map(thread::spawn);
    let results = threads.map(|thread| thread.join().expect("a part that panics ends the test"));
    TOGETHER.set(false);
    results
}
