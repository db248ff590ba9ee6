//! What libraries did that is no memory, counted by the stack that it came from.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::units::NodeId;

/// All counters of a process, and what is to be said about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// One for each stack and each thing that is counted.
    pub rows: Vec<CounterRow>,
    /// In the order of time.
    pub notes: Vec<Note>,
}

/// What was counted for one stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterRow {
    /// What, by its name.
    pub counter: Arc<str>,
    /// The innermost frame.
    pub node: NodeId,
    /// How often, up to the end.
    pub count: u64,
    /// How often up to marks, in their order. After the last one it has what it has at the end.
    pub changes: Vec<CountUntil>,
}

/// How often something was counted up to a mark, from the change before on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountUntil {
    /// The mark: its index + 1, so that all marks below this index are meant.
    pub until: u32,
    /// How often.
    pub count: u64,
}

/// Words about something that was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What, by its name.
    pub counter: Arc<str>,
    /// The words.
    pub text: String,
}

impl CounterRow {
    /// How often it was counted up to a mark, by the mark's index.
    pub fn at(&self, mark: usize) -> u64 {
        let next = self.changes.partition_point(|change| change.until as usize <= mark);
        self.changes.get(next).map_or(self.count, |change| change.count)
    }
}
