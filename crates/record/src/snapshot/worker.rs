//! The thread that takes and examines snapshots of programs while they are watched, one at a time. When one is due is decided by
//! `schedule`.

use std::fs::File;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Instant;

use heaplens_format::arena::header::SNAPSHOTS_TAKEN_OFFSET;
use heaplens_format::recording::errors::CanaryCheck;
use heaplens_format::recording::{HeapMoment, LeakCheck, SectionCheck};
use heaplens_format::{Nanos, Pid};
use heaplens_snapshot::{Examined, Snapshot, Span};

use super::cost::{Cost, Faults};
use super::error::SnapshotError;
use super::feasible::Program;
use super::running::copy;
use crate::arena;
use crate::os::shared_words;
use crate::session::ArenaName;
use crate::tracing::{TIMEOUT, TIMEOUT_ASKED};

/// Whoever examines, one at a time.
pub(crate) type Examine<'a> = dyn Fn(&Snapshot, HeapMoment) -> Examined + Sync + 'a;

/// A snapshot that is wanted.
#[derive(Debug)]
pub(crate) struct Request {
    /// The program.
    pub(crate) name: ArenaName,
    /// Its arena.
    pub(crate) arena: File,
    /// File names of Heaplens's own in it.
    pub(crate) own_files: Vec<String>,
    /// Pages that it inherited, where it began by `fork`.
    pub(crate) inherited: Option<Vec<Span>>,
    /// What it is doing.
    pub(crate) moment: HeapMoment,
    /// Since the start of the run.
    pub(crate) at: Nanos,
    /// How many snapshots that the program has asked for are answered by this one.
    pub(crate) answers: u32,
    /// Whether the whole heap is examined. Without this and `sections` only the canaries behind its blocks are checked.
    pub(crate) is_whole: bool,
    /// Sections whose end it is: what they left is examined.
    pub(crate) sections: Vec<SectionPass>,
}

/// The end of a pass of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectionPass {
    /// The number of the section.
    pub(crate) section: u32,
    /// The pass, counted from 1.
    pub(crate) pass: u32,
}

/// The result of a request.
#[derive(Debug)]
pub(crate) struct SnapshotOutcome {
    /// The program.
    pub(crate) name: ArenaName,
    /// What was found, or why nothing was.
    pub(crate) found: Result<Examined, SnapshotError>,
    /// What sections left, by their numbers.
    pub(crate) sections: Vec<(u32, SectionCheck)>,
    /// What the canaries behind blocks said, where they were checked.
    pub(crate) canaries: Option<CanaryCheck>,
    /// What it cost the program.
    pub(crate) cost: Cost,
}

/// The thread that takes and examines, while there is one.
pub(crate) struct Worker<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    examine: Option<&'env Examine<'env>>,
    running: Option<ScopedJoinHandle<'scope, SnapshotOutcome>>,
}

impl<'scope, 'env> Worker<'scope, 'env> {
    /// Nothing is taken yet; without somebody to examine, nothing ever is.
    pub(crate) fn new(scope: &'scope Scope<'scope, 'env>, examine: Option<&'env Examine<'env>>) -> Self {
        Self { scope, examine, running: None }
    }

    /// Whoever examines.
    pub(crate) fn examine(&self) -> Option<&'env Examine<'env>> {
        self.examine
    }

    /// Begins one, unless one is going on.
    pub(crate) fn begin(&mut self, request: Request) {
        if let (Some(examine), None) = (self.examine, &self.running) {
            self.running = Some(self.scope.spawn(move || take(request, examine)));
        }
    }

    /// Whether one is going on.
    pub(crate) fn is_busy(&self) -> bool {
        self.running.is_some()
    }

    /// The one that is done, if any.
    pub(crate) fn finished(&mut self) -> Option<SnapshotOutcome> {
        self.running.as_ref().filter(|running| running.is_finished())?;
        self.wait()
    }

    /// Waits for the one that is going on.
    pub(crate) fn wait(&mut self) -> Option<SnapshotOutcome> {
        self.running.take()?.join().ok()
    }
}

/// Has a snapshot examined, and adds to the view what is known of taking it.
pub(crate) fn examine(
    snapshot: &Snapshot,
    moment: HeapMoment,
    at: Nanos,
    examine: impl FnOnce(&Snapshot, HeapMoment) -> Examined,
) -> Examined {
    let start = Instant::now();
    let mut examined = examine(snapshot, moment);
    if let Some(view) = &mut examined.view {
        (view.moment, view.at, view.pause) = (moment, at, snapshot.pause);
        view.took = Nanos::new(start.elapsed().as_nanos() as u64);
        view.others_ran = snapshot.missing.registers;
    }
    examined
}

/// Takes a snapshot, has it examined, and drops it.
fn take(request: Request, examiner: &Examine<'_>) -> SnapshotOutcome {
    let Request { name, arena, own_files, inherited, moment, at, answers, is_whole, sections } = request;
    let recorder = Pid::new(std::process::id());
    let program = Program { process: name.pid, recorder, own_files, inherited, arena: &arena };
    // A program that asked waits for it: on a busy machine a thread may need long to stop.
    let is_asked = moment == HeapMoment::Asked || !sections.is_empty();
    let taken = copy(&program, if is_asked { TIMEOUT_ASKED } else { TIMEOUT });
    // Whether there is a snapshot or not, a program that waits for it goes on.
    shared_words::answer(&arena, SNAPSHOTS_TAKEN_OFFSET, answers).ok();
    let mut snapshot = match taken {
        Ok(snapshot) => snapshot,
        Err(error) => {
            let reason = error.to_string();
            let sections: Vec<_> =
                sections.iter().map(|pass| (pass.section, not_checked(*pass, at, &reason))).collect();
            let (cost, is_asked) = (Cost::of_failure(&error), is_whole || !sections.is_empty());
            let found = if is_asked { Err(error) } else { Ok(Examined::default()) };
            return SnapshotOutcome { name, found, sections, canaries: None, cost };
        }
    };
    let canaries = snapshot.canaries.take().map(|check| CanaryCheck { at, ..check });
    let faults = Faults::begin(name.pid, at);
    let found = if is_whole { examine(&snapshot, moment, at, examiner) } else { Examined::default() };
    let sections = sections.iter().map(|pass| {
        let found = examine_section(&mut snapshot, &arena, *pass, at, examiner);
        (pass.section, SectionCheck { is_at_exit: false, ..found })
    });
    let sections = sections.collect();
    let pause = snapshot.pause;
    drop(snapshot);
    SnapshotOutcome { name, found: Ok(found), sections, canaries, cost: Cost { pause, faults: faults.end() } }
}

/// Has what a section left examined: of a process that exits, unless the caller says otherwise.
pub(crate) fn examine_section(
    snapshot: &mut Snapshot,
    arena: &File,
    pass: SectionPass,
    at: Nanos,
    examiner: &Examine<'_>,
) -> SectionCheck {
    match arena::sites_of_section(arena, pass.section) {
        Ok(sites) => snapshot.focus = Some(sites),
        Err(error) => return not_checked(pass, at, &error.to_string()),
    }
    let Examined { leaks, view } = examine(snapshot, HeapMoment::Asked, at, examiner);
    snapshot.focus = None;
    SectionCheck { pass: pass.pass.into(), at, is_at_exit: true, leaks, view }
}

/// A leak check that was not possible.
pub(crate) fn not_checked(pass: SectionPass, at: Nanos, reason: &str) -> SectionCheck {
    let leaks = Some(LeakCheck::NotDone(reason.to_owned()));
    SectionCheck { pass: pass.pass.into(), at, leaks, ..SectionCheck::default() }
}
