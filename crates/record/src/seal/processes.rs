//! From arenas and readings to the processes of a recording. An arena that cannot be read is left out with a warning:
//! one bad file must not cost the others.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use heaplens_format::recording::{Exit, Process, ProcessEnd, Rss, Sample};
use heaplens_format::{Bytes, Loss, Nanos, Pid};

use crate::arena::{self, ArenaError};
use crate::os::procfs;
use crate::os::since;
use crate::session::ArenaName;
use crate::watch::Readings;

/// Something that is missing from a recording.
#[derive(Debug, thiserror::Error)]
pub enum Warning {
    /// An arena could not be read: its process is not in the recording.
    #[error("{} cannot be read, its process is left out: {source}", path.display())]
    Arena {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ArenaError,
    },
}

/// What is known about a run beside its arenas. The default knows nothing, as after the recorder was killed.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// When the run began, on the monotonic clock.
    pub(crate) start: Nanos,
    /// How long it took; 0 when unknown.
    pub(crate) wall: Nanos,
    /// The rate of the time stamp counter.
    pub(crate) ticks_per_second: f64,
    /// How processes ended, where the kernel said so.
    pub(crate) exits: BTreeMap<Pid, Exit>,
    /// What was read while they ran.
    pub(crate) readings: BTreeMap<ArenaName, Readings>,
    /// A process whose largest resident set the kernel told, Heaplens's own part included.
    pub(crate) peak: Option<(Pid, Bytes)>,
}

/// Reads every arena, in the order in which their images began.
pub(crate) fn processes(arenas: &[(ArenaName, PathBuf)], known: &Known) -> (Vec<Process>, Vec<Warning>) {
    let (mut processes, mut warnings, mut unborn) = (Vec::new(), Vec::new(), 0);
    for (index, (name, path)) in arenas.iter().enumerate() {
        let newest = arenas.get(index + 1).is_none_or(|(next, _)| next.pid != name.pid);
        match read(*name, path, known) {
            Ok(process) => processes.push(complete(process, *name, newest, path, known)),
            Err(ArenaError::Unborn) if arenas.len() > 1 => unborn += 1,
            Err(source) => warnings.push(Warning::Arena { path: path.clone(), source }),
        }
    }
    processes.sort_by_key(|process| (process.start, process.pid));
    if let Some(first) = processes.first_mut().filter(|_| unborn > 0) {
        count_unborn(first, unborn);
    }
    (processes, warnings)
}

/// A child that was killed before its arena was ready is nobody's fault, but it is missing: its tree's root says so.
fn count_unborn(root: &mut Process, unborn: u64) {
    match root.losses.iter_mut().find(|(loss, _)| *loss == Loss::ProcessUnseen) {
        Some((_, count)) => *count += unborn,
        None => root.losses.push((Loss::ProcessUnseen, unborn)),
    }
}

fn read(name: ArenaName, path: &Path, known: &Known) -> Result<Process, ArenaError> {
    let file = File::open(path)?;
    let findings = known.readings.get(&name).map(|readings| readings.findings.clone()).unwrap_or_default();
    arena::read_with_findings(&file, known.start, known.ticks_per_second, findings)
}

/// Adds what the arena itself cannot know.
fn complete(mut process: Process, name: ArenaName, newest: bool, path: &Path, known: &Known) -> Process {
    let nothing = Readings::default();
    let readings = known.readings.get(&name).unwrap_or(&nothing);
    let exit = known.exits.get(&name.pid).copied().filter(|_| newest);
    let agent_rss = process.rss.map(|rss| agent_rss(rss, process.end));
    let running = || newest && procfs::maps_file(name.pid, path);
    process.end = end(process.end, exit, newest, running);
    process.timeline = readings.timeline.samples();
    process.finish = finish(&process, known.wall);
    process.cpu = readings.cpu;
    complete_files(&mut process, known);
    process.rss = rss(agent_rss, readings, kernel_peak(&process, newest && name.execs == 0, known));
    process
}

/// Only where the run was this recorder's own: its folder is then the one in which the program was started.
fn complete_files(process: &mut Process, known: &Known) {
    if known.wall > Nanos::new(0)
        && let Ok(folder) = std::env::current_dir()
    {
        arena::complete_paths(&mut process.codes, &folder);
    }
}

/// The kernel's word counts more than the arena's: a program can call `exit` and be killed in its handlers.
fn end(seen: ProcessEnd, exit: Option<Exit>, newest: bool, running: impl Fn() -> bool) -> ProcessEnd {
    match (exit, seen) {
        (Some(exit), _) => ProcessEnd::Ended(exit),
        (None, ProcessEnd::Unknown) if !newest => ProcessEnd::Replaced,
        (None, ProcessEnd::Unknown | ProcessEnd::Running) if running() => ProcessEnd::Running,
        (None, ProcessEnd::Running) => ProcessEnd::Unknown,
        (None, seen) => seen,
    }
}

/// An end that the agent did not see lies between the last reading and the end of the run.
fn finish(process: &Process, wall: Nanos) -> Nanos {
    let last = process.timeline.last().map_or(process.start, |sample| sample.at.max(process.start));
    match process.end {
        _ if process.finish > process.start => process.finish,
        ProcessEnd::Running | ProcessEnd::Ended(_) => wall.max(last),
        ProcessEnd::Unknown | ProcessEnd::Replaced => last,
    }
}

/// The kernel keeps one peak for a process, over all its images: it tells nothing when there were several.
fn kernel_peak(process: &Process, only_image: bool, known: &Known) -> Option<Bytes> {
    let own = process.arena_bytes + process.agent_private_bytes;
    let (_, peak) = known.peak.filter(|&(pid, _)| only_image && pid == process.pid)?;
    Some(peak.saturating_sub(own))
}

/// The agent reads the resident memory once more when the program ends; without that its last reading is the first one.
fn agent_rss(rss: Rss, seen: ProcessEnd) -> Rss {
    match seen {
        ProcessEnd::Unknown | ProcessEnd::Running => Rss { end: Bytes::ZERO, ..rss },
        ProcessEnd::Ended(_) | ProcessEnd::Replaced => rss,
    }
}

/// Start and end as the agent saw them, else the first and last reading; the peak is the largest of all that is known.
fn rss(agent: Option<Rss>, readings: &Readings, kernel_peak: Option<Bytes>) -> Option<Rss> {
    let timeline = &readings.timeline;
    let (first, last) = (timeline.first().map(of), timeline.last().map(of));
    let known = |value: fn(Rss) -> Bytes| agent.map(value).filter(|&bytes| bytes > Bytes::ZERO);
    let start = known(|rss| rss.start).or(first).or(kernel_peak)?;
    let end = known(|rss| rss.end).or(last).unwrap_or(start);
    let peaks = [known(|rss| rss.peak), kernel_peak, timeline.peak().map(of), Some(readings.peak_rss)];
    let peak = peaks.into_iter().flatten().fold(start.max(end), Bytes::max);
    Some(Rss { start, peak, end })
}

fn of(sample: Sample) -> Bytes {
    sample.rss
}

/// The moment in Unix time at which a moment of the monotonic clock was, if the machine did not start anew since.
pub(crate) fn unix_time_of(moment: Nanos) -> Nanos {
    let ago = since(moment, crate::os::kernel::monotonic());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    since(ago, Nanos::new(now.as_nanos() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KILLED: Exit = Exit::Signal(9);

    fn readings(rss: &[u64]) -> Readings {
        let mut readings = Readings::default();
        for (tick, &rss) in rss.iter().enumerate() {
            let at = Nanos::new(tick as u64);
            readings.timeline.push(Sample { at, rss: Bytes::new(rss), ..Sample::default() });
        }
        readings
    }

    fn bytes_of(start: u64, peak: u64, end: u64) -> Rss {
        Rss { start: Bytes::new(start), peak: Bytes::new(peak), end: Bytes::new(end) }
    }

    #[test]
    fn the_kernels_word_on_the_end_counts_more_than_the_agents() {
        let seen = ProcessEnd::Ended(Exit::Code(0));
        assert_eq!(end(seen, Some(KILLED), true, || false), ProcessEnd::Ended(KILLED));
    }

    #[test]
    fn an_image_with_a_newer_one_was_replaced() {
        assert_eq!(end(ProcessEnd::Unknown, None, false, || true), ProcessEnd::Replaced);
    }

    #[test]
    fn an_ended_process_whose_number_was_used_again_was_not_replaced() {
        let seen = ProcessEnd::Ended(Exit::Code(2));
        assert_eq!(end(seen, None, false, || false), seen);
    }

    #[test]
    fn a_process_that_has_its_arena_mapped_still_runs() {
        assert_eq!(end(ProcessEnd::Unknown, None, true, || true), ProcessEnd::Running);
        assert_eq!(end(ProcessEnd::Unknown, None, true, || false), ProcessEnd::Unknown);
    }

    #[test]
    fn the_agents_start_and_end_come_before_readings() {
        let found = rss(Some(bytes_of(10, 0, 40)), &readings(&[20, 70, 30]), None);
        assert_eq!(found, Some(bytes_of(10, 70, 40)));
    }

    #[test]
    fn an_end_that_the_agent_did_not_see_has_no_resident_memory() {
        let seen = bytes_of(10, 10, 10);
        assert_eq!(agent_rss(seen, ProcessEnd::Unknown), bytes_of(10, 10, 0));
        assert_eq!(agent_rss(seen, ProcessEnd::Replaced), seen);
    }

    #[test]
    fn a_killed_process_ends_with_its_last_reading() {
        let found = rss(Some(bytes_of(10, 0, 0)), &readings(&[20, 70, 30]), Some(Bytes::new(90)));
        assert_eq!(found, Some(bytes_of(10, 90, 30)));
    }

    #[test]
    fn what_was_never_read_is_not_known() {
        assert_eq!(rss(None, &readings(&[]), None), None);
    }

    #[test]
    fn an_unseen_end_is_not_before_the_last_reading() {
        let sample = Sample { at: Nanos::new(50), ..Sample::default() };
        let process = Process { start: Nanos::new(20), timeline: vec![sample], ..Process::default() };
        assert_eq!(finish(&process, Nanos::new(90)), Nanos::new(50));
        let killed = Process { end: ProcessEnd::Ended(KILLED), ..process };
        assert_eq!(finish(&killed, Nanos::new(90)), Nanos::new(90));
    }

    #[test]
    fn a_file_that_is_no_arena_costs_a_warning_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("5.0.arena"), "garbage").unwrap();
        let arenas = crate::session::arenas(folder.path()).unwrap();
        let (processes, warnings) = processes(&arenas, &Known::default());
        assert!(processes.is_empty());
        assert_eq!(warnings.len(), 1);
    }
}
