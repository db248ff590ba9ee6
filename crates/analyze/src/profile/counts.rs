//! What libraries did in a process, over the whole run.

use heaplens_format::arena::Counter;
use heaplens_format::recording::{Note, Process};

use super::stacks::{StackId, Stacks};

/// All that was counted, and what was noted about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    totals: Vec<(Counter, u64)>,
    notes: Vec<Note>,
    refused_at: Option<StackId>,
}

impl Counts {
    pub(super) fn of(process: &Process, stacks: &Stacks) -> Self {
        let rows = &process.counters.rows;
        let total = |counter: Counter| {
            let own = rows.iter().filter(|row| row.counter == counter);
            own.fold(0u64, |sum, row| sum.saturating_add(row.count))
        };
        let totals = Counter::ALL.iter().map(|&counter| (counter, total(counter)));
        let totals = totals.filter(|&(_, count)| count > 0).collect();
        let refused = rows.iter().find(|row| row.counter == Counter::FinalizedGraphGrew && row.count > 0);
        let refused_at = refused.map(|row| stacks.of(row.node));
        Self { totals, notes: process.counters.notes.clone(), refused_at }
    }

    /// Where an operation was first to be made for a graph that was finalized for the user.
    pub fn refused_at(&self) -> Option<StackId> {
        self.refused_at
    }

    /// How often it happened.
    pub fn total(&self, counter: Counter) -> u64 {
        self.totals.iter().find(|(known, _)| *known == counter).map_or(0, |(_, count)| *count)
    }

    /// What was noted about it, in the order of time.
    pub fn notes(&self, counter: Counter) -> impl Iterator<Item = &str> {
        self.notes.iter().filter(move |note| note.counter == counter).map(|note| note.text.as_str())
    }
}
