//! Which blocks the process shown could still reach at its end, by the stacks that allocated them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use heaplens_format::recording::{Amount, LeakCheck, LeakKind, Process};

use super::stacks::{StackId, Stacks};

/// What a search of all live blocks gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaks {
    /// None was possible, for this reason.
    NotDone(String),
    /// Blocks of one kind and one stack, the worst kind first, then by bytes.
    Done(Vec<LeakRecord>),
}

/// Blocks of one kind that one stack allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeakRecord {
    /// What they are.
    pub kind: LeakKind,
    /// Themselves.
    pub direct: Amount,
    /// What is lost with them.
    pub indirect: Amount,
    /// The stack, for [`crate::Profile::frames`].
    pub stack: StackId,
}

impl LeakRecord {
    /// Bytes that would be free without the leak.
    pub fn bytes(&self) -> u64 {
        self.direct.bytes.get().saturating_add(self.indirect.bytes.get())
    }
}

/// All blocks of one kind.
pub fn total(records: &[LeakRecord], kind: LeakKind) -> Amount {
    records.iter().filter(|record| record.kind == kind).map(|record| record.direct).sum()
}

/// One record for all of a kind whose stacks have the same key.
pub(crate) fn merged<K: Ord>(records: Vec<LeakRecord>, key: impl Fn(StackId) -> K) -> Vec<LeakRecord> {
    let mut merged: BTreeMap<(LeakKind, K), LeakRecord> = BTreeMap::new();
    for record in records {
        // The largest comes first, and lends its stack.
        let first = merged.entry((record.kind, key(record.stack))).or_insert(LeakRecord {
            direct: Amount::default(),
            indirect: Amount::default(),
            ..record
        });
        first.direct += record.direct;
        first.indirect += record.indirect;
    }
    let mut merged: Vec<LeakRecord> = merged.into_values().collect();
    sort(&mut merged);
    merged
}

fn sort(records: &mut [LeakRecord]) {
    records.sort_by_key(|record| (record.kind, Reverse(record.bytes())));
}

pub(crate) fn of(process: &Process, stacks: &Stacks) -> Option<Leaks> {
    process.leaks.as_ref().map(|check| of_check(check, process, stacks))
}

/// The records of a leak check.
pub(crate) fn of_check(check: &LeakCheck, process: &Process, stacks: &Stacks) -> Leaks {
    let lost = match check {
        LeakCheck::NotDone(reason) => return Leaks::NotDone(reason.clone()),
        LeakCheck::Done(lost) => lost,
    };
    let mut merged: BTreeMap<(LeakKind, StackId), (Amount, Amount)> = BTreeMap::new();
    for lost in lost {
        let stack = stacks.of(process.sites[lost.site as usize].node);
        let (direct, indirect) = merged.entry((lost.kind, stack)).or_default();
        *direct += lost.direct;
        *indirect += lost.indirect;
    }
    let record = |((kind, stack), (direct, indirect))| LeakRecord { kind, direct, indirect, stack };
    let mut records: Vec<LeakRecord> = merged.into_iter().map(record).collect();
    sort(&mut records);
    Leaks::Done(records)
}
