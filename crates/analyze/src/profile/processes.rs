//! The processes of a run, a row each, and what Heaplens took inside them.

use heaplens_format::memory::Category;
use heaplens_format::recording::{Exit, Process, ProcessEnd, Recording, Rss};
use heaplens_format::{Bytes, Nanos, Pid};

/// One process of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessRow {
    /// The process.
    pub pid: Pid,
    /// Its parent.
    pub parent: Pid,
    /// Its words, or its executable where they are not known.
    pub command: Vec<String>,
    /// Whether it began by `fork` and went on without `exec`.
    pub forked: bool,
    /// When it began, since the start of the run.
    pub start: Nanos,
    /// When it ended, or was read last.
    pub finish: Nanos,
    /// How it ended.
    pub end: ProcessEnd,
    /// Whether it is the one shown.
    pub shown: bool,
    /// Live heap bytes at its end.
    pub live: Bytes,
    /// Live heap bytes at their peak.
    pub peak: Bytes,
    /// Resident memory.
    pub rss: Option<Rss>,
}

/// What Heaplens took inside the process shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// CPU time inside the programs.
    pub agent_cpu: Nanos,
    /// CPU time of everything, 0 when unknown.
    pub total_cpu: Nanos,
    /// Bytes of the arenas.
    pub arena: Bytes,
    /// Private memory inside the programs.
    pub private: Bytes,
}

impl Cost {
    /// The part of the CPU time that Heaplens took, 0 to 1; `None` when the CPU time is not known.
    pub fn share(&self) -> Option<f64> {
        let total = self.total_cpu.get();
        (total > 0).then(|| self.agent_cpu.get() as f64 / total as f64)
    }
}

/// The row of a process.
pub(crate) fn row(process: &Process, shown: bool) -> ProcessRow {
    let words = process.command.iter().filter(|word| !word.is_empty()).count();
    let heap = process.sites.iter().filter(|site| site.kind.category() == Category::Heap);
    ProcessRow {
        pid: process.pid,
        parent: process.parent,
        command: if words == 0 { vec![process.executable.clone()] } else { process.command.clone() },
        forked: process.forked,
        start: process.start,
        finish: process.finish,
        end: process.end,
        shown,
        live: heap.map(|site| site.live.bytes).sum(),
        peak: process.peak_live,
        rss: process.rss,
    }
}

/// The part of a run from which on a process is what the run is about.
const MAIN_PART: f64 = 0.75;

/// Whether it is a program that another one of this run started for a part of it, as a compiler is.
pub(crate) fn is_helper(process: &Process, recording: &Recording) -> bool {
    let life = process.finish.get().saturating_sub(process.start.get());
    let is_brief = (life as f64) < MAIN_PART * recording.run.wall.get() as f64;
    let is_started = || recording.processes.iter().any(|other| other.pid == process.parent);
    is_brief && !process.forked && is_started()
}

/// Of the process shown; where its CPU time is not known, of the whole tree.
pub(crate) fn cost(recording: &Recording, shown: Option<&Process>) -> Cost {
    match shown {
        Some(process) if process.cpu > Nanos::new(0) => cost_of(std::slice::from_ref(process), process.cpu),
        _ => cost_of(&recording.processes, recording.run.cpu),
    }
}

fn cost_of(processes: &[Process], total_cpu: Nanos) -> Cost {
    let time = processes.iter().fold(0u64, |sum, process| sum.saturating_add(process.agent_cpu.get()));
    Cost {
        agent_cpu: Nanos::new(time),
        total_cpu,
        arena: processes.iter().map(|process| process.arena_bytes).sum(),
        private: processes.iter().map(|process| process.agent_private_bytes).sum(),
    }
}

/// How a process ended, where it did.
pub(crate) fn exit_of(process: &Process) -> Option<Exit> {
    match process.end {
        ProcessEnd::Ended(exit) => Some(exit),
        ProcessEnd::Unknown | ProcessEnd::Replaced | ProcessEnd::Running => None,
    }
}

#[cfg(test)]
mod tests {
    use heaplens_format::recording::Run;

    use super::*;

    #[test]
    fn a_program_that_another_one_starts_for_a_part_of_the_run_is_a_helper() {
        let process = |pid: u32, parent: u32, seconds: u64, forked: bool| Process {
            pid: Pid::new(pid),
            parent: Pid::new(parent),
            start: Nanos::new(1_000_000_000),
            finish: Nanos::new((1 + seconds) * 1_000_000_000),
            forked,
            ..Process::default()
        };
        let run = Run { wall: Nanos::new(8_000_000_000), ..Run::default() };
        let recording = Recording { run, processes: vec![process(7, 1, 7, false)] };
        let helps = |one: Process| is_helper(&one, &recording);
        assert!(helps(process(8, 7, 2, false)));
        assert!(!helps(process(8, 7, 7, false)), "what a shell starts is what the run is about");
        assert!(!helps(process(8, 7, 2, true)), "a worker does the program's own work");
        assert!(!helps(process(8, 1, 2, false)), "nothing of this run started it");
    }
}
