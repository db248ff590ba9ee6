//! What a heap snapshot is examined for: which of its blocks are lost, who holds the others, and what grew since the snapshot before.
//!
//! ```text
//!   snapshot ─▶ names (Python's roots, classes) ─▶ graph ─┬─ kinds ──────────────────▶ lost blocks
//!                                                         ├─ paths ───▶ namer ──┬─────▶ holders of sites
//!                                                         └─ dominators ────────┴─────▶ retainers, growing containers
//! ```

use std::collections::HashMap;

use heaplens_format::Pid;
use heaplens_format::recording::LeakCheck;
use heaplens_snapshot::{Examined, Snapshot};

use super::heap_view::{History, section_view, unreachable_view, view};
use super::typed_heap::TypedHeap;
use crate::heap::memory::TooManyBlocks;
use crate::heap::scan::Heuristics;

/// A block that only a register leads to would count as lost.
const REGISTERS_MISSING: &str =
    "the kernel does not let us stop its threads, and what they have in registers was not seen";

/// Examines snapshots of processes, one after the other, and remembers of each what it needs to see what grew.
#[derive(Debug, Default)]
pub struct Analysis {
    histories: HashMap<Pid, History>,
    /// Whether keys of dicts are shown that are not in the source.
    shows_keys: bool,
    /// Which interior pointers are valid ones.
    heuristics: Heuristics,
}

impl Analysis {
    /// One that names all keys of dicts on reference paths, not only those that stand in the source: these may be data.
    pub fn showing_keys(shows_keys: bool) -> Self {
        Self { shows_keys, ..Self::default() }
    }

    /// One that takes these interior pointers for as good as pointers to the start.
    pub fn with_heuristics(heuristics: Heuristics) -> Self {
        Self { heuristics, ..Self::default() }
    }

    /// Which blocks can be reached.
    pub fn leaks(&mut self, snapshot: &Snapshot) -> Examined {
        let heuristics = self.heuristics;
        let heap = TypedHeap::new(snapshot, self.history(snapshot).names(), heuristics);
        let view = heap.as_ref().ok().and_then(unreachable_view);
        Examined { leaks: Some(leak_check(snapshot, heap.as_ref())), view }
    }

    /// The same, and who holds them.
    pub fn holders(&mut self, snapshot: &Snapshot) -> Examined {
        let heuristics = self.heuristics;
        let history = self.history(snapshot);
        let heap = TypedHeap::new(snapshot, history.names(), heuristics);
        let leaks = Some(leak_check(snapshot, heap.as_ref()));
        Examined { leaks, view: heap.ok().map(|heap| view(&heap, history)) }
    }

    /// What a section left: the blocks of the sites that the snapshot is to be examined for, and who holds them.
    pub fn section(&mut self, snapshot: &Snapshot) -> Examined {
        let sites = snapshot.focus.as_deref().unwrap_or_default();
        let heuristics = self.heuristics;
        let history = self.history(snapshot);
        let heap = TypedHeap::new(snapshot, history.names(), heuristics);
        let leaks = match (&heap, snapshot.missing.registers) {
            (_, true) => LeakCheck::NotDone(REGISTERS_MISSING.to_owned()),
            (Ok(heap), false) => LeakCheck::Done(heap.left_by(sites)),
            (Err(error), false) => LeakCheck::NotDone(error.to_string()),
        };
        let view = heap.ok().map(|heap| section_view(&heap, history, sites));
        Examined { leaks: Some(leaks), view }
    }

    fn history(&mut self, snapshot: &Snapshot) -> &mut History {
        self.histories.entry(snapshot.process).or_insert_with(|| History::new(self.shows_keys))
    }
}

fn leak_check(snapshot: &Snapshot, heap: Result<&TypedHeap<'_>, &TooManyBlocks>) -> LeakCheck {
    match heap {
        _ if snapshot.missing.registers => LeakCheck::NotDone(REGISTERS_MISSING.to_owned()),
        Ok(heap) => LeakCheck::Done(heap.lost()),
        Err(error) => LeakCheck::NotDone(error.to_string()),
    }
}
