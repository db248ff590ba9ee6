//! Looking at the heap of a program while the watch over it goes on: an image is taken and examined in a thread of its own, one
//! at a time. When, is said elsewhere (`snapshots`).

use std::fs::File;
use std::mem::discriminant;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use heaplens_format::arena::header::SNAPSHOTS_TAKEN_OFFSET;
use heaplens_format::recording::{Heap, HeapMoment, HeapView, LeakCheck};
use heaplens_format::{Nanos, Pid};

use crate::arena::Findings;
use crate::kernel;
use crate::procfs;
use crate::session::ArenaName;
use crate::snapshot::frozen::{Examined, Frozen, NotFrozen};
use crate::snapshot::schedule::Cost;
use crate::tracing::{NotStopped, TIMEOUT};

/// Looks while the program runs that are kept: what grew shows between two.
const KEPT: usize = 2;
/// Of those that were asked for.
const ASKED_KEPT: usize = 16;

/// Whoever examines, one at a time.
pub(crate) type Examine<'a> = dyn Fn(&Frozen, HeapMoment) -> Examined + Sync + 'a;

/// What is looked at.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// The program.
    pub(crate) name: ArenaName,
    /// Its arena.
    pub(crate) arena: File,
    /// File names of Heaplens's own in it.
    pub(crate) own_files: Vec<String>,
    /// What it is doing.
    pub(crate) moment: HeapMoment,
    /// Since the start of the run.
    pub(crate) at: Nanos,
    /// So many looks that the program has asked for are taken with this one.
    pub(crate) answers: u32,
}

/// What came of a look.
#[derive(Debug)]
pub(crate) struct Look {
    /// The program.
    pub(crate) name: ArenaName,
    /// What was found, or why nothing was.
    pub(crate) found: Result<Examined, NotFrozen>,
    /// What it cost the program.
    pub(crate) cost: Cost,
}

/// The one that is going on.
pub(crate) struct Looks<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    examine: Option<&'env Examine<'env>>,
    running: Option<ScopedJoinHandle<'scope, Look>>,
}

impl<'scope, 'env> Looks<'scope, 'env> {
    /// None is going on; without somebody to examine, none ever is.
    pub(crate) fn new(scope: &'scope Scope<'scope, 'env>, examine: Option<&'env Examine<'env>>) -> Self {
        Self { scope, examine, running: None }
    }

    /// Whoever examines.
    pub(crate) fn examine(&self) -> Option<&'env Examine<'env>> {
        self.examine
    }

    /// Begins one, unless one is going on.
    pub(crate) fn begin(&mut self, wanted: Wanted) {
        if let (Some(examine), None) = (self.examine, &self.running) {
            self.running = Some(self.scope.spawn(move || look(wanted, examine)));
        }
    }

    /// Whether one is going on.
    pub(crate) fn is_busy(&self) -> bool {
        self.running.is_some()
    }

    /// The one that is done, if any.
    pub(crate) fn finished(&mut self) -> Option<Look> {
        self.running.as_ref().filter(|running| running.is_finished())?;
        self.wait()
    }

    /// Waits for the one that is going on.
    pub(crate) fn wait(&mut self) -> Option<Look> {
        self.running.take()?.join().ok()
    }
}

/// Takes an image, has it examined, and lets it go.
fn look(wanted: Wanted, examine: &Examine<'_>) -> Look {
    let Wanted { name, arena, own_files, moment, at, answers } = wanted;
    let recorder = Pid::new(std::process::id());
    let taken = Frozen::image(name.pid, recorder, own_files, &arena, TIMEOUT);
    // Whether there is an image or not: whoever waits for it goes on.
    kernel::answer(&arena, SNAPSHOTS_TAKEN_OFFSET, answers).ok();
    let frozen = match taken {
        Ok(frozen) => frozen,
        Err(error) => return Look { name, cost: cost_of_failure(&error), found: Err(error) },
    };
    let faults = Faults::begin(name.pid, at);
    let start = Instant::now();
    let mut examined = examine(&frozen, moment);
    complete(&mut examined, &frozen, moment, at, start.elapsed());
    let pause = frozen.pause();
    drop(frozen);
    Look { name, cost: Cost { pause, faults: faults.end() }, found: Ok(examined) }
}

/// What the recorder knows of a view.
pub(crate) fn complete(
    examined: &mut Examined,
    frozen: &Frozen,
    moment: HeapMoment,
    at: Nanos,
    took: Duration,
) {
    if let Some(view) = &mut examined.view {
        let took = Nanos::new(took.as_nanos() as u64);
        (view.moment, view.at, view.pause, view.took) = (moment, at, frozen.pause(), took);
        view.others_ran = frozen.others_ran();
    }
    if frozen.others_ran() {
        examined.leaks = Some(LeakCheck::NotDone(REGISTERS_UNSEEN.to_owned()));
    }
}

/// A block that only a register leads to would count as lost.
const REGISTERS_UNSEEN: &str =
    "the kernel does not let us stop its threads, and what they have in registers was not seen";

/// Threads that do not stop had those wait that did.
fn cost_of_failure(error: &NotFrozen) -> Cost {
    match error {
        NotFrozen::Threads(NotStopped::Late { timeout }) => {
            Cost { pause: Nanos::new(timeout.as_nanos() as u64), faults: 0 }
        }
        _ => Cost::default(),
    }
}

/// Page faults of a program while its image lives, without those that it has anyway.
struct Faults {
    process: Pid,
    before: u64,
    /// How long it had them for.
    ran: Nanos,
    since: Instant,
}

impl Faults {
    fn begin(process: Pid, ran: Nanos) -> Self {
        Self { process, before: procfs::minor_faults(process).unwrap_or(0), ran, since: Instant::now() }
    }

    fn end(&self) -> u64 {
        let all = procfs::minor_faults(self.process).unwrap_or(0).saturating_sub(self.before);
        let usual =
            self.before as f64 * self.since.elapsed().as_nanos() as f64 / self.ran.get().max(1) as f64;
        all.saturating_sub(usual as u64)
    }
}

/// Keeps what was found in a program while it ran or at its end, or why nothing was.
pub(crate) fn keep(findings: &mut Findings, found: Result<Examined, NotFrozen>, moment: HeapMoment) {
    match found {
        Ok(Examined { leaks, view }) => {
            findings.heap.refusal = None;
            findings.leaks = leaks.or(findings.leaks.take());
            view.into_iter().for_each(|view| keep_view(&mut findings.heap, view));
        }
        Err(error) => {
            let reason = error.to_string();
            findings.heap.refusal = Some(reason.as_str().into());
            if moment == HeapMoment::Exit {
                findings.leaks = Some(LeakCheck::NotDone(reason));
            }
        }
    }
}

/// Of each kind, the latest.
fn keep_view(heap: &mut Heap, view: HeapView) {
    let most = match view.moment {
        HeapMoment::Running { .. } => KEPT,
        HeapMoment::Asked => ASKED_KEPT,
        HeapMoment::Exit => usize::MAX,
    };
    let kind = discriminant(&view.moment);
    let is_alike = |view: &HeapView| discriminant(&view.moment) == kind;
    heap.views.push(view);
    if heap.views.iter().filter(|view| is_alike(view)).count() > most
        && let Some(first) = heap.views.iter().position(is_alike)
    {
        heap.views.remove(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examined(moment: HeapMoment) -> Result<Examined, NotFrozen> {
        let view = HeapView { moment, ..HeapView::default() };
        Ok(Examined { leaks: None, view: Some(view) })
    }

    #[test]
    fn the_last_two_of_the_loop_and_all_others_are_kept() {
        let mut findings = Findings::default();
        let asked = HeapMoment::Asked;
        let running = [10, 20, 40].map(|passes| HeapMoment::Running { passes });
        for moment in [running[0], asked, running[1], running[2], HeapMoment::Exit] {
            keep(&mut findings, examined(moment), moment);
        }
        let kept: Vec<HeapMoment> = findings.heap.views.iter().map(|view| view.moment).collect();
        assert_eq!(kept, [asked, running[1], running[2], HeapMoment::Exit]);
    }

    #[test]
    fn the_last_ones_that_were_asked_for_are_kept() {
        let mut findings = Findings::default();
        (0..40).for_each(|_| keep(&mut findings, examined(HeapMoment::Asked), HeapMoment::Asked));
        assert_eq!(findings.heap.views.len(), ASKED_KEPT);
    }

    #[test]
    fn the_reason_of_the_last_one_is_kept_and_forgotten_with_the_next() {
        let mut findings = Findings::default();
        let moment = HeapMoment::Running { passes: 1 };
        keep(&mut findings, Err(NotFrozen::Restricted), moment);
        assert!(findings.heap.refusal.is_some() && findings.leaks.is_none());
        keep(&mut findings, examined(moment), moment);
        assert!(findings.heap.refusal.is_none());
        keep(&mut findings, Err(NotFrozen::Restricted), HeapMoment::Exit);
        assert!(matches!(findings.leaks, Some(LeakCheck::NotDone(_))));
    }

    #[test]
    fn threads_that_came_too_late_cost_what_the_others_waited() {
        assert!(cost_of_failure(&NotStopped::Late { timeout: TIMEOUT }.into()).pause.get() > 0);
        assert_eq!(cost_of_failure(&NotFrozen::Gone).pause.get(), 0);
    }
}
