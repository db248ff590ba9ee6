//! Watching the process tree while it runs: a reading of each living process every 20 ms, signals passed on, orphans reaped.
//! It changes nothing in the program and keeps what it read in bounded space; arenas are read whole only after the end.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use heaplens_format::recording::{Exit, HeapMoment, LeakCheck, LeakKind, LostSite, Sample};
use heaplens_format::{Bytes, Nanos, Pid};

use super::image::Image;
use super::listeners::Listeners;
use super::progress::{self, GrowthSeries, ProgressListener};
use super::readings::Readings;
use crate::arena;
use crate::os::Stopwatch;
use crate::os::procfs;
use crate::os::{Arrived, HeldSignals, Reaped, children};
use crate::session::WakeUpFifo;
use crate::session::{self, ArenaName, Listing};
use crate::snapshot::{self, Examine, Examiner, Request, SnapshotOutcome, Worker};

/// The time between two readings: 50 a second cost the recorder some 0.2 % of one core.
const INTERVAL: Nanos = Nanos::new(20_000_000);

/// A shell has some hundred KiB live.
const NEXT_TO_NOTHING: Bytes = Bytes::new(1 << 20);

/// Processes that are watched for growth, those with the most live memory.
const MOST_WATCHED: usize = 16;

/// What is known when the command's own process has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The command's own process.
    pub(crate) pid: Pid,
    /// What the kernel reported about it.
    pub(crate) main: Reaped,
    /// Whether `main.tree_peak_rss` is that of the process alone.
    pub(crate) peak_is_its_own: bool,
    /// How it and the orphans that were reaped ended.
    pub(crate) exits: BTreeMap<Pid, Exit>,
    /// CPU time of the whole tree as far as it was reaped.
    pub(crate) cpu: Nanos,
    /// How long it took.
    pub(crate) wall: Nanos,
    /// What was read of each image.
    pub(crate) readings: BTreeMap<ArenaName, Readings>,
}

/// Where the files of a run are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunPaths<'a> {
    /// The session's directory.
    pub(crate) directory: &'a Path,
    /// The agent's own file.
    pub(crate) agent: &'a Path,
}

/// Watches until the process `main` has ended; descendants may run on. `paths` is `None` for a bare run, and so is
/// `wake_up`, which is there since before the program began. Listeners get reports of progress.
pub(crate) fn until_end(
    main: Pid,
    paths: Option<RunPaths<'_>>,
    wake_up: Option<WakeUpFifo>,
    clock: Stopwatch,
    signals: &HeldSignals,
    listeners: Listeners<'_>,
) -> io::Result<Ended> {
    let own_peak = children::own_peak_rss();
    let Listeners { progress: mut listener, examiner, snapshots: are_wanted, snapshot_at } = listeners;
    let checks_sections = examiner.is_some();
    let examine = examiner.map(|examiner| one_at_a_time(examiner));
    let snapshots_when_asked = are_wanted && examine.is_some();
    let mut watch = Watch {
        snapshot_at,
        snapshots_when_asked,
        checks_sections,
        ..Watch::new(main, paths, wake_up, clock)
    };
    std::thread::scope(|scope| {
        let mut worker = Worker::new(scope, examine.as_deref());
        while !children::has_ended(main) {
            watch.reap_orphans(main)?;
            watch.read_all(&mut worker);
            watch.take_snapshots(&mut worker, are_wanted);
            if let Some(listener) = &mut listener {
                watch.report(listener);
            }
            watch.wait_for_next(main, signals)?;
        }
        watch.keep(worker.wait());
        watch.settle(main, own_peak)
    })
}

/// Snapshots are examined by the thread that takes them and by the one that watches.
fn one_at_a_time<'a>(examiner: Examiner<'a>) -> Box<Examine<'a>> {
    let examiner = Mutex::new(examiner);
    Box::new(move |snapshot, moment| {
        let mut examiner = examiner.lock().unwrap_or_else(PoisonError::into_inner);
        (*examiner)(snapshot, moment)
    })
}

/// The process is not reaped yet, so the pid is still its own. A failure needs no handling: it has exited.
fn pass_on(main: Pid, signal: i32) {
    let pid = rustix::process::Pid::from_raw(main.get() as i32);
    let signal = rustix::process::Signal::from_named_raw(signal);
    if let (Some(pid), Some(signal)) = (pid, signal) {
        rustix::process::kill_process(pid, signal).ok();
    }
}

struct Watch<'a> {
    main: Pid,
    paths: Option<RunPaths<'a>>,
    wake_up: Option<WakeUpFifo>,
    clock: Stopwatch,
    listing: Listing,
    images: BTreeMap<ArenaName, Image>,
    exits: BTreeMap<Pid, Exit>,
    cpu: u64,
    series: GrowthSeries,
    /// The image that was reported last.
    reported: Option<ArenaName>,
    /// When progress is reported next.
    report_at: Nanos,
    /// The label of marks at which a snapshot is wanted.
    snapshot_at: Option<&'a str>,
    /// Whether a snapshot is taken where the program asks for one.
    snapshots_when_asked: bool,
    /// Whether one is taken where a section ends.
    checks_sections: bool,
}

impl<'a> Watch<'a> {
    fn new(main: Pid, paths: Option<RunPaths<'a>>, wake_up: Option<WakeUpFifo>, clock: Stopwatch) -> Self {
        let (images, exits) = (BTreeMap::new(), BTreeMap::new());
        let (series, reported, report_at) = (GrowthSeries::default(), None, progress::INTERVAL);
        let listing = Listing::default();
        Self {
            main,
            paths,
            wake_up,
            clock,
            listing,
            images,
            exits,
            cpu: 0,
            series,
            reported,
            report_at,
            snapshot_at: None,
            snapshots_when_asked: false,
            checks_sections: false,
        }
    }

    /// Reports progress, from time to time.
    fn report(&mut self, listener: &mut ProgressListener<'_>) {
        let now = self.clock.elapsed();
        if now < self.report_at {
            return;
        }
        self.report_at = Nanos::new(now.get() + progress::INTERVAL.get());
        let Some((name, file, sample)) = self.process_to_report() else { return };
        let loops = arena::read_loops(file).unwrap_or_default();
        if self.reported != Some(name) {
            (self.reported, self.series) = (Some(name), GrowthSeries::default());
        }
        listener(&self.series.progress(now, sample, &loops));
    }

    /// The command's own process; where that has next to no live memory, as a shell, the running one with the most.
    fn process_to_report(&self) -> Option<(ArenaName, &File, Sample)> {
        let living =
            self.images.iter().rev().filter_map(|(&name, image)| {
                Some((name, image.file.as_ref()?, image.readings.timeline.last()?))
            });
        let is_worth_it = |&(name, _, sample): &(ArenaName, &File, Sample)| {
            name.pid == self.main && sample.live >= NEXT_TO_NOTHING
        };
        living.clone().find(is_worth_it).or_else(|| living.max_by_key(|(_, _, sample)| sample.live))
    }

    /// Lets one interval pass, or less when a child ended or a signal arrived. SIGUSR2 is for the recorder: it wants a mark,
    /// where there is an agent to make one.
    fn wait_for_next(&mut self, main: Pid, signals: &HeldSignals) -> io::Result<()> {
        match signals.wait(INTERVAL, self.wake_up.as_ref().map(WakeUpFifo::as_fd))? {
            Some(Arrived::FromProcess(libc::SIGUSR2)) if self.paths.is_some() => {
                self.images.values_mut().for_each(Image::want_mark);
            }
            Some(Arrived::FromProcess(signal)) => pass_on(main, signal),
            Some(Arrived::WakeUp) => self.wake_up.iter_mut().for_each(WakeUpFifo::rearm),
            Some(Arrived::Child | Arrived::FromTerminal) | None => {}
        }
        Ok(())
    }

    fn read_all(&mut self, worker: &mut Worker<'_, '_>) {
        self.discover();
        let now = self.clock.elapsed();
        let living = self.images.iter().filter(|(_, image)| image.file.is_some());
        for name in living.map(|(name, _)| *name).collect::<Vec<_>>() {
            let is_main = name.pid == self.main;
            let Some(image) = self.images.get_mut(&name) else { continue };
            if let Some(moment) = image.read(name.pid, now, is_main, self.snapshot_at) {
                self.examine_end(name, worker);
                self.images[&name].answer(moment);
            }
            self.check_leaks(name, worker);
            self.answer_requests(name);
        }
    }

    /// Makes the leak check that a program waits for; where that is not possible, nothing was lost as far as it is known.
    fn check_leaks(&mut self, name: ArenaName, worker: &mut Worker<'_, '_>) {
        if self.images.get(&name).is_some_and(Image::wants_leak_check) {
            let lost = self.lost_now(name, worker).unwrap_or(0);
            self.images.get_mut(&name).into_iter().for_each(|image| image.answer_leak_check(lost));
        }
    }

    /// How many blocks of a process that waits are definitely lost.
    fn lost_now(&mut self, name: ArenaName, worker: &mut Worker<'_, '_>) -> Option<u32> {
        let (examine, at) = (worker.examine()?, self.clock.elapsed());
        let stopped = self.images.get_mut(&name)?.stop_for_leak_check(name.pid, at)?;
        self.keep(worker.wait());
        match snapshot::examine(&stopped, HeapMoment::Asked, at, examine).leaks? {
            LeakCheck::Done(sites) => {
                let is_lost = |site: &&LostSite| site.kind == LeakKind::DefinitelyLost;
                let blocks: u64 = sites.iter().filter(is_lost).map(|site| site.direct.blocks).sum();
                Some(u32::try_from(blocks).unwrap_or(u32::MAX))
            }
            LeakCheck::NotDone(_) => None,
        }
    }

    /// A program that asked for a snapshot does not wait for one that is not taken.
    fn answer_requests(&mut self, name: ArenaName) {
        let (takes_whole, takes_sections) = (self.snapshots_when_asked, self.checks_sections);
        let Some(image) = self.images.get_mut(&name) else { return };
        let is_taken =
            takes_whole || image.has_canaries() || takes_sections && !image.sections_that_wait().is_empty();
        if image.is_at_end() || !is_taken {
            image.refuse_snapshots();
        }
    }

    /// Takes a snapshot of a process that waits at its exit. It is stopped first: it must not time out while another snapshot is
    /// still being examined.
    fn examine_end(&mut self, name: ArenaName, worker: &mut Worker<'_, '_>) {
        let (Some(examine), at) = (worker.examine(), self.clock.elapsed()) else { return };
        let Some(mut stopped) = self.images.get_mut(&name).and_then(|image| image.stop(name.pid)) else {
            return;
        };
        self.keep(worker.wait());
        let Some(image) = self.images.get_mut(&name) else { return };
        image.check_sections_at_end(&mut stopped, at, examine);
        let found = stopped.map(|stopped| snapshot::examine(&stopped, HeapMoment::Exit, at, examine));
        snapshot::keep(&mut image.readings.findings, found, HeapMoment::Exit);
    }

    /// Begins a snapshot of a program that asked for one, reached a mark with the wanted label, or grows, when it is due.
    fn take_snapshots(&mut self, worker: &mut Worker<'_, '_>, at_growth: bool) {
        self.keep(worker.finished());
        let now = self.clock.elapsed();
        if worker.is_busy() || worker.examine().is_none() {
            self.images.values_mut().for_each(Image::refuse_at_end_of_loop);
            return;
        }
        let takes_whole = self.snapshots_when_asked || self.snapshot_at.is_some();
        let asked = self
            .images
            .iter_mut()
            .find_map(|(name, image)| image.snapshot_when_asked(*name, now, takes_whole));
        let wanted = asked.or_else(|| if at_growth { self.snapshot_when_due(now) } else { None });
        let wanted = wanted.or_else(|| self.canary_check_when_due(now));
        wanted.into_iter().for_each(|request| worker.begin(request));
    }

    /// The snapshot that is due of one of the processes with the most live memory, if any; the one that is reported comes first.
    fn snapshot_when_due(&mut self, now: Nanos) -> Option<Request> {
        let reported = self.process_to_report()?.0;
        let living = self.images.iter().filter(|(_, image)| image.file.is_some());
        let mut living: Vec<(ArenaName, Sample)> =
            living.filter_map(|(&name, image)| Some((name, image.readings.timeline.last()?))).collect();
        living.sort_by_key(|&(name, sample)| (name != reported, std::cmp::Reverse(sample.live)));
        living.truncate(MOST_WATCHED);
        let due = |(name, sample)| self.images.get_mut(&name)?.snapshot_when_due(name, now, sample);
        living.into_iter().find_map(due)
    }

    fn canary_check_when_due(&mut self, now: Nanos) -> Option<Request> {
        self.images.iter_mut().find_map(|(name, image)| image.canary_check_when_due(*name, now))
    }

    fn keep(&mut self, outcome: Option<SnapshotOutcome>) {
        let Some(outcome) = outcome else { return };
        if let Some(image) = self.images.get_mut(&outcome.name) {
            image.keep(outcome);
        }
    }

    /// Finds new arenas. A directory that cannot be listed now is listed again at the next reading and at the end.
    fn discover(&mut self) {
        let Some(paths) = self.paths else { return };
        if !self.listing.is_due(paths.directory) {
            return;
        }
        for (name, path) in session::arenas(paths.directory).unwrap_or_default() {
            if !self.images.contains_key(&name) {
                self.retire_before(name);
                self.images.insert(name, Image::new(name, &path, paths.agent));
            }
        }
    }

    /// A newer image of the same process has replaced the older ones.
    fn retire_before(&mut self, name: ArenaName) {
        let oldest = ArenaName { pid: name.pid, execs: 0 };
        self.images.range_mut(oldest..name).for_each(|(_, image)| image.file = None);
    }

    fn reap_orphans(&mut self, main: Pid) -> io::Result<()> {
        while let Some(child) = children::ended_child().filter(|&child| child != main) {
            match children::reap(child) {
                Ok(reaped) => self.note(child, &reaped),
                // A forked copy of a process, reaped first by the thread that keeps it.
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn note(&mut self, child: Pid, reaped: &Reaped) {
        self.exits.insert(child, reaped.exit);
        self.cpu += reaped.tree_cpu.get();
    }

    /// Reads what a zombie still has, reaps it, and then the orphans that it left.
    fn settle(mut self, main: Pid, own_peak: Bytes) -> io::Result<Ended> {
        self.discover();
        self.read_last_cpu(main);
        let alone = !procfs::waited_for_children(main);
        let reaped = children::reap(main)?;
        self.note(main, &reaped);
        self.reap_orphans(main)?;
        let readings = self.images.into_iter().map(|(name, image)| (name, image.finish())).collect();
        Ok(Ended {
            pid: main,
            main: reaped,
            // The kernel's peak begins with the recorder's own copy between fork and exec.
            peak_is_its_own: alone && reaped.tree_peak_rss > own_peak,
            exits: self.exits,
            cpu: Nanos::new(self.cpu),
            wall: self.clock.elapsed(),
            readings,
        })
    }

    fn read_last_cpu(&mut self, main: Pid) {
        let last = self.images.iter_mut().rev().find(|(name, _)| name.pid == main);
        if let Some((_, image)) = last {
            image.read_cpu(main);
        }
    }
}
