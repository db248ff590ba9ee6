//! Sealing a session whose recorder was killed, or while its programs run: everything that is in the arenas, and readings of
//! the processes that still run.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use heaplens_format::arena::HeaderView;
use heaplens_format::arena::header::HEADER_SIZE;
use heaplens_format::recording::{HeapMoment, Ledger, Process, Recording, Run, Sample};
use heaplens_format::{Bytes, Nanos, Pid};

use crate::agent;
use crate::arena::{self, Findings};
use crate::ledger::{self, Ledgers, Subject};
use crate::os::clocks;
use crate::os::procfs;
use crate::os::{Stopwatch, since};
use crate::recorded_process::RecordedProcess;
use crate::seal::{self, Known, Warning};
use crate::session::{self, ArenaName};
use crate::snapshot::{self, Examiner};
use crate::watch::Readings;

/// Why nothing could be collected from a directory.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// It cannot be listed.
    #[error("cannot list {}: {source}", directory.display())]
    Unreadable {
        /// The directory.
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It holds no arena.
    #[error("{} is not a session directory: it contains no arenas", directory.display())]
    NoArena {
        /// The directory.
        directory: PathBuf,
    },
    /// It holds arenas, and none can be read.
    #[error("{} contains no arena that can be read: {first}", directory.display())]
    AllUnreadable {
        /// The directory.
        directory: PathBuf,
        /// What the first one said.
        first: Warning,
    },
}

/// A recording of what is in a session's directory. Nothing in it is changed; processes may still run.
pub fn collect(directory: &Path) -> Result<Recording, CollectError> {
    collect_with(directory, None)
}

/// A request for a heap snapshot of one process.
pub struct Asked<'a> {
    /// The process.
    pub process: &'a RecordedProcess,
    /// Is shown a snapshot of it.
    pub examiner: Examiner<'a>,
}

/// The same with a heap snapshot of one process.
pub fn collect_with(directory: &Path, asked: Option<Asked<'_>>) -> Result<Recording, CollectError> {
    let arenas = session::arenas(directory)
        .map_err(|source| CollectError::Unreadable { directory: directory.to_owned(), source })?;
    let start = earliest(&arenas);
    let readings = arenas.iter().filter_map(|(name, path)| Some((*name, reading(*name, path, start)?)));
    let mut known = Known {
        start,
        ticks_per_second: Stopwatch::start().ticks_per_second(),
        readings: readings.collect(),
        ..Known::default()
    };
    if let Some(asked) = asked {
        examine(asked, &mut known);
    }
    let (processes, warnings) = seal::processes(&arenas, &known);
    match (processes.is_empty(), warnings.into_iter().next()) {
        (false, _) => Ok(Recording { run: run_of(&processes, &arenas, known.start), processes }),
        (true, Some(first)) => Err(CollectError::AllUnreadable { directory: directory.to_owned(), first }),
        (true, None) => Err(CollectError::NoArena { directory: directory.to_owned() }),
    }
}

/// Of a process that was replaced by `exec`, the newest image is the one that runs.
fn examine(asked: Asked<'_>, known: &mut Known) {
    let start = known.start;
    let newest = known.readings.iter_mut().rev().find(|(name, _)| name.pid == asked.process.pid());
    let Some((_, readings)) = newest else { return };
    let found = asked.process.snapshot().map(|snapshot| {
        let at = since(start, clocks::monotonic());
        snapshot::examine(&snapshot, HeapMoment::Asked, at, asked.examiner)
    });
    snapshot::keep(&mut readings.findings, found, HeapMoment::Asked);
}

/// A reading of a process that still runs.
fn reading(name: ArenaName, path: &Path, start: Nanos) -> Option<Readings> {
    let resident = procfs::resident(name.pid).filter(|_| procfs::maps_file(name.pid, path))?;
    let file = File::open(path).ok()?;
    let header = arena::read_header(&file).ok()?;
    let own = |bytes: Bytes| bytes.saturating_sub(header.own_bytes);
    let (now, rss) = (since(start, clocks::monotonic()), own(resident.now));
    let ledgers = ledgers(name.pid, path, &file, ledger::Reading { now, rss, loops: header.loops });
    let findings = Findings { ledgers, ..Findings::default() };
    let mut readings = Readings { peak_rss: own(resident.peak), findings, ..Readings::default() };
    readings.cpu = clocks::cpu_of(name.pid).filter(|_| name.execs == 0).unwrap_or_default();
    let (threads, cpu) = (resident.threads, readings.cpu);
    readings.timeline.push(Sample { at: now, rss, live: header.live, threads, cpu });
    Some(readings)
}

/// Where its resident bytes are now: one ledger, or none when the process may not be read.
fn ledgers(process: Pid, path: &Path, arena: &File, reading: ledger::Reading) -> Vec<Ledger> {
    let agent = procfs::mapped_file(process, agent::is_agent);
    let own = [Some(path), agent.as_deref()].into_iter().flatten();
    let own = own.filter_map(|path| path.file_name()?.to_str().map(str::to_owned));
    let mut ledgers = Ledgers::new(Subject::new(process, own.collect()));
    ledgers.read(arena, reading);
    ledgers.kept()
}

fn earliest(arenas: &[(ArenaName, PathBuf)]) -> Nanos {
    let start = |path: &PathBuf| arena::read_header(&File::open(path).ok()?).ok().map(|header| header.start);
    arenas.iter().filter_map(|(_, path)| start(path)).min().unwrap_or_default()
}

/// The first process is the command's own: nothing of the tree began before it.
fn run_of(processes: &[Process], arenas: &[(ArenaName, PathBuf)], start: Nanos) -> Run {
    Run {
        heaplens: env!("CARGO_PKG_VERSION").to_owned(),
        command: processes.first().map(|process| process.command.clone()).unwrap_or_default(),
        exit: None,
        started_unix: seal::unix_time_of(start),
        wall: processes.iter().map(|process| process.finish).max().unwrap_or_default(),
        cpu: Nanos::default(),
        sample_interval: arenas.iter().find_map(|(_, path)| sample_interval(path)),
    }
}

fn sample_interval(path: &Path) -> Option<Bytes> {
    let mut bytes = vec![0; HEADER_SIZE];
    File::open(path).ok()?.read_exact_at(&mut bytes, 0).ok()?;
    let interval = HeaderView::new(&bytes)?.sample_interval();
    (interval > 0).then(|| Bytes::new(interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_arenas_is_no_session() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(collect(folder.path()), Err(CollectError::NoArena { .. })));
    }

    #[test]
    fn a_directory_that_is_not_there_is_named() {
        let error = collect(Path::new("/nowhere/heaplens-1-2")).unwrap_err();
        assert!(error.to_string().starts_with("cannot list /nowhere/heaplens-1-2: "), "{error}");
    }

    #[test]
    fn arenas_that_cannot_be_read_are_reported_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("1.0.arena"), "").unwrap();
        assert!(matches!(collect(folder.path()), Err(CollectError::AllUnreadable { .. })));
    }
}
