//! ```text
//!   rows:   counter │ node │ count │ (marks since the change before │ count until then)*
//!   notes:  counter │ text
//! ```
//!
//! A row of a counter that is not known here is left out, and counted.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Outcome, Tally};
use crate::arena::Counter;
use crate::recording::counters::{CountUntil, CounterRow, Counters, Note};
use crate::recording::damage::{PayloadFault, Violation};
use crate::recording::wire::{Reader, Writer};
use crate::units::NodeId;

pub(crate) fn write(counters: &Counters, to: &mut Writer) {
    to.count(counters.rows.len());
    counters.rows.iter().for_each(|row| write_row(row, to));
    to.count(counters.notes.len());
    for note in &counters.notes {
        to.number(note.counter as u64);
        to.text(&note.text);
    }
}

pub(crate) fn read(counters: &mut Counters, tally: &mut Tally, from: &mut Reader<'_>) -> Outcome {
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    let outcome = from.rows(4, &mut rows, read_row);
    // What was read before a fault is as true as without it.
    counters.rows = rows.into_iter().filter_map(|row| known(row, tally)).collect();
    outcome?;
    let outcome = from.rows(2, &mut notes, read_note);
    counters.notes = notes.into_iter().filter_map(|note| known(note, tally)).collect();
    outcome
}

fn known<T>(row: Option<T>, tally: &mut Tally) -> Option<T> {
    if row.is_none() {
        tally.add(Violation::UnknownCounter);
    }
    row
}

fn write_row(row: &CounterRow, to: &mut Writer) {
    to.number(row.counter as u64);
    to.number(row.node.get().into());
    to.number(row.count);
    to.count(row.changes.len());
    let mut before = 0;
    for change in &row.changes {
        to.number(change.until.wrapping_sub(before).into());
        to.number(change.count);
        before = change.until;
    }
}

fn read_row(from: &mut Reader<'_>) -> Result<Option<CounterRow>, PayloadFault> {
    let counter = Counter::from_number(from.number()?);
    let (node, count) = (NodeId::new(from.small()?), from.number()?);
    let (mut changes, mut until) = (Vec::new(), 0u32);
    from.rows(2, &mut changes, |from| {
        until = until.wrapping_add(from.small()?);
        Ok(CountUntil { until, count: from.number()? })
    })?;
    Ok(counter.map(|counter| CounterRow { counter, node, count, changes }))
}

fn read_note(from: &mut Reader<'_>) -> Result<Option<Note>, PayloadFault> {
    let counter = Counter::from_number(from.number()?);
    let text = String::from(from.text()?);
    Ok(counter.map(|counter| Note { counter, text }))
}
