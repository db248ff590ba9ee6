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
