//! From arenas and readings to the processes of a recording. An arena that cannot be read is left out with a warning:
//! one bad file must not cost the others.

use std::fs::File;
use std::path::{Path, PathBuf};

use heaplens_format::recording::Process;
use heaplens_format::{Loss, Nanos};

use super::known::Known;
use super::lifetime::{end, finish};
use super::resident::{agent_rss, kernel_peak, rss};
use super::unchecked::leak_check;
use crate::arena::{self, ArenaError};
use crate::os::since;
use crate::os::{clocks, procfs};
use crate::session::ArenaName;
use crate::watch::Readings;

/// Something that is missing from a recording.
#[derive(Debug, thiserror::Error)]
pub enum Warning {
    /// An arena could not be read: its process is not in the recording.
    #[error("{} cannot be read, so its process is missing from the recording: {source}", path.display())]
    Arena {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ArenaError,
    },
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
    let (nothing, seen) = (Readings::default(), process.end);
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
    process.leaks = process.leaks.take().or_else(|| leak_check(&process, seen, known.inspected));
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

/// The moment in Unix time at which a moment of the monotonic clock was, if the machine did not start anew since.
pub(crate) fn unix_time_of(moment: Nanos) -> Nanos {
    let ago = since(moment, clocks::monotonic());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    since(ago, Nanos::new(now.as_nanos() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

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
