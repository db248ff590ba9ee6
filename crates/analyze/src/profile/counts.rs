//! What libraries did in a process, over the whole run.

use std::sync::Arc;

use heaplens_format::recording::{Note, Process};

use super::stacks::{StackId, Stacks};

/// All that was counted, and what was noted about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    rows: Vec<Row>,
    notes: Vec<Note>,
}

/// What was counted at one stack.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    counter: Arc<str>,
    stack: StackId,
    count: u64,
}

impl Counts {
    pub(crate) fn of(process: &Process, stacks: &Stacks) -> Self {
        let counted = process.counters.rows.iter().filter(|row| row.count > 0);
        let rows = counted.map(|row| Row {
            counter: row.counter.clone(),
            stack: stacks.of(row.node),
            count: row.count,
        });
        Self { rows: rows.collect(), notes: process.counters.notes.clone() }
    }

    /// How often it happened.
    pub fn total(&self, counter: &str) -> u64 {
        self.rows_of(counter).fold(0, |sum, row| sum.saturating_add(row.count))
    }

    /// Where it happened first; `None` where it did not.
    pub fn first_at(&self, counter: &str) -> Option<StackId> {
        self.rows_of(counter).next().map(|row| row.stack)
    }

    /// What was noted about it, in the order of time.
    pub fn notes(&self, counter: &str) -> impl Iterator<Item = &str> {
        self.notes.iter().filter(move |note| *note.counter == *counter).map(|note| note.text.as_str())
    }

    fn rows_of(&self, counter: &str) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| *row.counter == *counter)
    }
}
