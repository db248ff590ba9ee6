//! One program image that is being watched: what is read of it, what its agent is asked and answered, and when snapshots of its heap
//! are taken. Which images there are is known to `tree`.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use heaplens_format::arena::End;
use heaplens_format::arena::header::{
    LEAK_CHECK_LOST_OFFSET, LEAK_CHECKS_MADE_OFFSET, LEDGER_GIVEN_OFFSET, MARKS_WANTED_OFFSET,
    SNAPSHOTS_TAKEN_OFFSET,
};
use heaplens_format::arena::ledger::LARGE;
use heaplens_format::arena::section::SectionView;
use heaplens_format::recording::errors::CanaryCheck;
use heaplens_format::recording::{HeapMoment, LedgerMoment, Sample};
use heaplens_format::{Bytes, Nanos, Pid};
use heaplens_snapshot::Snapshot;

use super::intervals::Intervals;
use super::progress;
use super::readings::Readings;
use crate::arena::{self, Findings, Tables};
use crate::ledger::{Ledgers, Reading, Subject};
use crate::os::procfs;
use crate::os::since;
use crate::os::{clocks, shared_words};
use crate::session::ArenaName;
use crate::snapshot::{
    self, Examine, Labels, ProgramState, Request, Schedule, SectionPass, SnapshotError, SnapshotOutcome,
};

/// One program image that is being watched.
pub(crate) struct Image {
    /// Open while the image lives. Thousands of ended ones must not use up the descriptors.
    pub(crate) file: Option<File>,
    /// CPU time that the process had used before this image began.
    cpu_before: Nanos,
    pub(crate) readings: Readings,
    /// Marks that were asked for.
    marks_wanted: u32,
    intervals: Intervals,
    ledgers: Ledgers,
    schedule: Schedule,
    labels: Labels,
    /// Whether a snapshot is wanted because of a mark.
    is_marked: bool,
    /// Snapshots that the program has asked for, and how many of these were begun or will not be.
    snapshots_wanted: u32,
    snapshots_begun: u32,
    /// The one that was asked for because a loop is over.
    snapshot_of_loop: u32,
    /// The leak check that the program waits for.
    leak_check_wanted: Option<u32>,
    imports: u32,
    /// Whether there are canaries behind blocks.
    has_canaries: bool,
    /// Whether the ledger at the end was asked for.
    is_at_end: bool,
}

impl Image {
    pub(crate) fn new(name: ArenaName, path: &Path, agent: &Path) -> Self {
        // A program of another user keeps its arena to itself: then no mark can be asked for.
        let file = File::options().read(true).write(true).open(path).or_else(|_| File::open(path)).ok();
        let cpu_before = match name.execs {
            0 => Nanos::default(),
            _ => clocks::cpu_of(name.pid).unwrap_or_default(),
        };
        let own = [path, agent].into_iter().filter_map(|path| path.file_name()?.to_str().map(str::to_owned));
        let ledgers = Ledgers::new(Subject::new(name.pid, own.collect()));
        Self {
            file,
            cpu_before,
            readings: Readings::default(),
            marks_wanted: 0,
            intervals: Intervals::default(),
            ledgers,
            schedule: Schedule::default(),
            labels: Labels::default(),
            is_marked: false,
            snapshots_wanted: 0,
            snapshots_begun: 0,
            snapshot_of_loop: 0,
            leak_check_wanted: None,
            imports: 0,
            has_canaries: false,
            is_at_end: false,
        }
    }

    /// Asks the agent for a mark, which it checks for from time to time. Where it cannot be asked there is none.
    pub(crate) fn want_mark(&mut self) {
        self.marks_wanted += 1;
        if let Some(file) = &self.file {
            file.write_all_at(&self.marks_wanted.to_le_bytes(), MARKS_WANTED_OFFSET as u64).ok();
        }
    }

    /// What the agent waits for, if it does.
    pub(crate) fn read(
        &mut self,
        pid: Pid,
        now: Nanos,
        is_main: bool,
        snapshot_at: Option<&str>,
    ) -> Option<LedgerMoment> {
        let file = self.file.as_ref()?;
        // An arena whose header is not written yet is read again next time.
        let header = arena::read_header(file).ok()?;
        let Some(resident) = procfs::resident(pid) else {
            self.file = None;
            return None;
        };
        self.ledgers.subject().read_by(resident.by);
        // Not closed: when `exec` fails, the image goes on.
        if header.end != End::Unseen {
            return None;
        }
        let rss = resident.now.saturating_sub(header.own_bytes);
        let cpu = clocks::cpu_of(pid).map_or(self.readings.cpu, |cpu| since(self.cpu_before, cpu));
        self.readings.cpu = cpu;
        // What is freed after the exit began was live until then.
        if !header.is_leaving {
            let threads = resident.threads;
            self.readings.timeline.push(Sample { at: now, rss, live: header.live, threads, cpu });
            self.intervals.read(file, &header, now);
        }
        self.is_marked |= snapshot_at.is_some_and(|label| self.labels.has_new(file, &header, label));
        self.snapshots_wanted = header.snapshots_wanted;
        self.snapshot_of_loop = header.snapshot_of_loop;
        self.leak_check_wanted = header.leak_check_wanted;
        self.imports = header.imports;
        self.has_canaries = header.has_canaries;
        let peak = resident.peak.saturating_sub(header.own_bytes);
        self.readings.peak_rss = self.readings.peak_rss.max(peak);
        if header.is_forked && resident.now >= Bytes::new(LARGE) {
            self.ledgers.subject().note_inherited();
        }
        let reading = Reading { now, rss, loops: header.loops };
        self.read_ledger(reading, header.ledger_wanted, is_main || rss >= Bytes::new(LARGE));
        header.ledger_wanted
    }

    fn read_ledger(&mut self, reading: Reading, wanted: Option<LedgerMoment>, is_worth_it: bool) {
        let Some(file) = &self.file else { return };
        let Some(moment) = wanted else {
            if is_worth_it && !self.is_at_end {
                self.ledgers.read(file, reading);
            }
            return;
        };
        if is_worth_it && !self.is_at_end {
            shared_words::answer(file, LEDGER_GIVEN_OFFSET, LedgerMoment::BEGUN).ok();
            self.ledgers.read_end(file, reading, moment);
        }
        self.is_at_end = true;
    }

    /// Stops a process that waits; `None` where there is no arena to read. One that has timed out in the meantime is no longer
    /// where it waited.
    pub(crate) fn stop(&mut self, pid: Pid) -> Option<Result<Snapshot, SnapshotError>> {
        let file = self.file.as_ref()?;
        let waits = || arena::read_header(file).is_ok_and(|header| header.ledger_wanted.is_some());
        let stopped = snapshot::stop(pid, self.ledgers.subject(), file);
        Some(stopped.and_then(|snapshot| if waits() { Ok(snapshot) } else { Err(SnapshotError::GoneOn) }))
    }

    /// Has what sections left examined in a process that waits at its exit, where their ends were not seen.
    pub(crate) fn check_sections_at_end(
        &mut self,
        stopped: &mut Result<Snapshot, SnapshotError>,
        at: Nanos,
        examine: &Examine<'_>,
    ) {
        let Some(file) = &self.file else { return };
        for pass in self.sections_at_end() {
            let check = match stopped {
                Ok(snapshot) => snapshot::examine_section(snapshot, file, pass, at, examine),
                Err(error) => snapshot::not_checked(pass, at, &error.to_string()),
            };
            self.readings.findings.sections.insert(pass.section, check);
        }
    }

    /// Whether the program waits for a leak check.
    pub(crate) fn wants_leak_check(&self) -> bool {
        self.leak_check_wanted.is_some() && self.file.is_some()
    }

    /// Stops a process that waits for a leak check, and checks its canaries.
    pub(crate) fn stop_for_leak_check(&mut self, pid: Pid, at: Nanos) -> Option<Snapshot> {
        let file = self.file.as_ref()?;
        let stopped = snapshot::stop(pid, self.ledgers.subject(), file).ok()?;
        let tables = Tables::open(file).filter(|_| self.has_canaries);
        if let Some(check) = tables.and_then(|tables| snapshot::check_canaries(&tables, &stopped.memory)) {
            snapshot::keep_check(&mut self.readings.findings, CanaryCheck { at, ..check });
        }
        Some(stopped)
    }

    /// So many blocks were definitely lost at the leak check that the program waits for.
    pub(crate) fn answer_leak_check(&mut self, lost: u32) {
        if let (Some(number), Some(file)) = (self.leak_check_wanted.take(), &self.file) {
            shared_words::answer(file, LEAK_CHECK_LOST_OFFSET, lost).ok();
            shared_words::answer(file, LEAK_CHECKS_MADE_OFFSET, number).ok();
        }
    }

    /// The snapshot that is due because the program grows, if any.
    pub(crate) fn snapshot_when_due(
        &mut self,
        name: ArenaName,
        now: Nanos,
        sample: Sample,
    ) -> Option<Request> {
        let file = self.file.as_ref().filter(|_| !self.is_at_end && self.schedule.wants_point(now))?;
        let iterations = progress::iterations_of(&arena::read_loops(file).unwrap_or_default());
        let state = self.state(now, iterations, sample);
        if !self.schedule.is_due(state) {
            return None;
        }
        self.schedule.begin(state);
        self.request(name, HeapMoment::Running { iterations: iterations.unwrap_or(0) }, now)
    }

    /// A check of the canaries behind all blocks, where it is due: it narrows down when one was changed.
    pub(crate) fn canary_check_when_due(&mut self, name: ArenaName, now: Nanos) -> Option<Request> {
        let state = self.state(now, None, self.readings.timeline.last()?);
        if !self.has_canaries || self.is_at_end || !self.schedule.is_check_due(state) {
            return None;
        }
        self.schedule.begin_check(now);
        let request = self.request(name, HeapMoment::Running { iterations: 0 }, now)?;
        Some(Request { is_whole: false, ..request })
    }

    fn state(&self, now: Nanos, iterations: Option<u64>, sample: Sample) -> ProgramState {
        ProgramState { now, iterations, live: sample.live, rss: sample.rss, imports: self.imports }
    }

    /// The same at a mark, or where the program asked for it. Without `takes_whole` only the ends of sections have one, and canaries are checked.
    pub(crate) fn snapshot_when_asked(
        &mut self,
        name: ArenaName,
        now: Nanos,
        takes_whole: bool,
    ) -> Option<Request> {
        let is_marked = std::mem::take(&mut self.is_marked);
        if self.is_at_end || !(is_marked || self.snapshots_wanted > self.snapshots_begun) {
            return None;
        }
        if !is_marked && self.is_at_end_of_loop() {
            return self.snapshot_of_loop(name, now);
        }
        let sections = self.sections_that_wait();
        let is_asked = self.snapshots_wanted - self.snapshots_begun > u32::from(!sections.is_empty());
        let is_whole = takes_whole && (is_marked || is_asked);
        let is_taken = is_whole || !sections.is_empty() || self.has_canaries;
        self.snapshots_begun = self.snapshots_wanted;
        let request = self.request(name, HeapMoment::Asked, now)?;
        is_taken.then_some(Request { is_whole, sections, ..request })
    }

    /// Sections that ended and have asked for a snapshot.
    pub(crate) fn sections_that_wait(&self) -> Vec<SectionPass> {
        let waiting = self.snapshots_begun + 1..=self.snapshots_wanted;
        if waiting.is_empty() {
            return Vec::new();
        }
        self.sections(|_, view| waiting.contains(&view.snapshot))
    }

    /// Sections that have not ended, or whose last pass has no check of its own.
    pub(crate) fn sections_at_end(&self) -> Vec<SectionPass> {
        let checked = |section: u32| self.readings.findings.sections.get(&section).map(|check| check.pass);
        self.sections(|section, view| view.open != 0 || checked(section) < Some(view.passes.into()))
    }

    fn sections(&self, is_wanted: impl Fn(u32, &SectionView) -> bool) -> Vec<SectionPass> {
        let all = self.file.as_ref().and_then(|file| arena::read_sections(file).ok()).unwrap_or_default();
        let wanted = all.into_iter().filter(|(section, view)| is_wanted(*section, view));
        wanted.map(|(section, view)| SectionPass { section, pass: view.passes }).collect()
    }

    fn is_at_end_of_loop(&self) -> bool {
        self.snapshots_wanted > self.snapshots_begun && self.snapshot_of_loop == self.snapshots_wanted
    }

    /// The last one of a loop that is over, where it is worth it; else the program goes on at once.
    fn snapshot_of_loop(&mut self, name: ArenaName, now: Nanos) -> Option<Request> {
        let loops = arena::read_loops(self.file.as_ref()?).unwrap_or_default();
        let iterations = progress::iterations_of(&loops);
        let state = self.state(now, iterations, self.readings.timeline.last()?);
        if !self.schedule.is_worth_it_at_end(state) {
            self.refuse_snapshots();
            return None;
        }
        self.snapshots_begun = self.snapshots_wanted;
        self.schedule.begin(state);
        self.request(name, HeapMoment::Running { iterations: iterations.unwrap_or(0) }, now)
    }

    /// While another one is being examined, a program does not wait at the end of its loop.
    pub(crate) fn refuse_at_end_of_loop(&mut self) {
        if self.is_at_end_of_loop() {
            self.refuse_snapshots();
        }
    }

    /// The snapshots that the program has asked for will not be taken: it need not wait.
    pub(crate) fn refuse_snapshots(&mut self) {
        if self.snapshots_wanted > self.snapshots_begun
            && let Some(file) = &self.file
        {
            self.snapshots_begun = self.snapshots_wanted;
            shared_words::answer(file, SNAPSHOTS_TAKEN_OFFSET, self.snapshots_wanted).ok();
        }
    }

    /// Whether there are canaries behind its blocks, which a snapshot checks.
    pub(crate) fn has_canaries(&self) -> bool {
        self.has_canaries
    }

    /// Whether it is exiting, so that no snapshot is taken any more.
    pub(crate) fn is_at_end(&self) -> bool {
        self.is_at_end
    }

    fn request(&mut self, name: ArenaName, moment: HeapMoment, at: Nanos) -> Option<Request> {
        let arena = self.file.as_ref()?.try_clone().ok()?;
        let subject = self.ledgers.subject();
        let (own_files, inherited) = (subject.own_files().to_vec(), subject.inherited().cloned());
        let answers = self.snapshots_begun;
        let (is_whole, sections) = (true, Vec::new());
        Some(Request { name, arena, own_files, inherited, moment, at, answers, is_whole, sections })
    }

    /// Keeps the result of a snapshot.
    pub(crate) fn keep(&mut self, outcome: SnapshotOutcome) {
        self.schedule.end(outcome.cost);
        // These reasons do not go away.
        let is_for_good = |error: &SnapshotError| {
            matches!(
                error,
                SnapshotError::Blocks(_) | SnapshotError::Restricted | SnapshotError::NoTrampoline
            )
        };
        if outcome.found.as_ref().is_err_and(is_for_good) {
            self.schedule.give_up();
        }
        self.readings.findings.sections.extend(outcome.sections);
        outcome
            .canaries
            .into_iter()
            .for_each(|check| snapshot::keep_check(&mut self.readings.findings, check));
        snapshot::keep(&mut self.readings.findings, outcome.found, HeapMoment::Running { iterations: 0 });
    }

    /// An agent that waits is answered, whether there was anything to read or not.
    pub(crate) fn answer(&self, moment: LedgerMoment) {
        if let Some(file) = &self.file {
            shared_words::answer(file, LEDGER_GIVEN_OFFSET, moment as u32).ok();
        }
    }

    pub(crate) fn finish(self) -> Readings {
        let findings = Findings { ledgers: self.ledgers.kept(), ..self.readings.findings };
        Readings { findings, ..self.readings }
    }

    pub(crate) fn read_cpu(&mut self, pid: Pid) {
        if let Some(cpu) = clocks::cpu_of(pid) {
            self.readings.cpu = since(self.cpu_before, cpu);
        }
    }
}
