//! ```text
//!   rows:   counter │ node │ count │ (marks since the change before │ count until then)*
//!   notes:  counter │ text
//!   names:  text                                                                              (since 2.7)
//! ```
//!
//! A counter is 64 more than the index of its name. Up to 2.6 there were no names, and counters had the numbers of [`NUMBERED`]. A
//! row of a counter that is not known here is left out, and counted.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Outcome, Tally};
use crate::recording::counters::{CountUntil, CounterRow, Counters, Note};
use crate::recording::damage::{PayloadFault, Violation};
use crate::recording::wire::{Reader, Writer};
use crate::units::NodeId;

/// Numbers below are those of [`NUMBERED`]: whoever knows only these leaves out the others, and takes none for another.
const FIRST_NAMED: u64 = 64;

/// The counters of formats 2.5 and 2.6, from number 1 on.
const NUMBERED: [&str; 21] = [
    "graph operations",
    "sessions made",
    "sessions closed",
    "session objects freed",
    "function traces",
    "Python functions registered",
    "Python functions dropped",
    "gradients registered",
    "Keras models made",
    "calls of clear_session",
    "probes that are not available",
    "graph operations freed",
    "function traces freed",
    "Keras models freed",
    "calls of compile",
    "gradient tapes made",
    "gradient tapes freed",
    "dataset iterators made",
    "dataset iterators freed",
    "reasons why the collector does not come",
    "operations that a finalized graph refused",
];

pub(crate) fn write(counters: &Counters, to: &mut Writer) {
    let mut names = Names::default();
    to.count(counters.rows.len());
    counters.rows.iter().for_each(|row| write_row(row, names.number(&row.counter), to));
    to.count(counters.notes.len());
    for note in &counters.notes {
        to.number(names.number(&note.counter));
        to.text(&note.text);
    }
    to.count(names.texts.len());
    names.texts.iter().for_each(|name| to.text(name));
}

/// Names to be written to a file, each once.
#[derive(Default)]
struct Names<'a> {
    texts: Vec<&'a str>,
    numbers: BTreeMap<&'a str, u64>,
}

impl<'a> Names<'a> {
    fn number(&mut self, name: &'a str) -> u64 {
        *self.numbers.entry(name).or_insert_with(|| {
            self.texts.push(name);
            FIRST_NAMED + self.texts.len() as u64 - 1
        })
    }
}

pub(crate) fn read(counters: &mut Counters, tally: &mut Tally, from: &mut Reader<'_>) -> Outcome {
    let (mut rows, mut notes, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let outcome = read_all((&mut rows, &mut notes, &mut names), from);
    // What was read before a fault is as true as without it.
    let named = |number: u64| named(&names, number);
    counters.rows = rows.into_iter().filter_map(|row| known(row, named, tally)).map(counter_row).collect();
    counters.notes = notes
        .into_iter()
        .filter_map(|note| known(note, named, tally))
        .map(|(counter, text)| Note { counter, text })
        .collect();
    outcome
}

/// With the number of its counter.
type Row = (u64, (NodeId, u64, Vec<CountUntil>));
type Words = (u64, String);

fn read_all(
    (rows, notes, names): (&mut Vec<Row>, &mut Vec<Words>, &mut Vec<Arc<str>>),
    from: &mut Reader<'_>,
) -> Outcome {
    from.rows(4, rows, read_row)?;
    from.rows(2, notes, |from| Ok((from.number()?, String::from(from.text()?))))?;
    if from.left() == 0 {
        return Ok(()); // up to 2.6
    }
    from.rows(1, names, |from| Ok(Arc::from(from.text()?)))
}

/// What a number stands for.
fn named(names: &[Arc<str>], number: u64) -> Option<Arc<str>> {
    match number.checked_sub(FIRST_NAMED) {
        Some(at) => names.get(usize::try_from(at).ok()?).cloned(),
        None => NUMBERED.get(usize::try_from(number).ok()?.checked_sub(1)?).map(|&name| Arc::from(name)),
    }
}

fn known<T>(
    (number, row): (u64, T),
    named: impl Fn(u64) -> Option<Arc<str>>,
    tally: &mut Tally,
) -> Option<(Arc<str>, T)> {
    let name = named(number);
    if name.is_none() {
        tally.add(Violation::UnknownCounter);
    }
    name.map(|name| (name, row))
}

fn counter_row((counter, (node, count, changes)): (Arc<str>, (NodeId, u64, Vec<CountUntil>))) -> CounterRow {
    CounterRow { counter, node, count, changes }
}

fn write_row(row: &CounterRow, number: u64, to: &mut Writer) {
    to.number(number);
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

fn read_row(from: &mut Reader<'_>) -> Result<Row, PayloadFault> {
    let counter = from.number()?;
    let (node, count) = (NodeId::new(from.small()?), from.number()?);
    let (mut changes, mut until) = (Vec::new(), 0u32);
    from.rows(2, &mut changes, |from| {
        until = until.wrapping_add(from.small()?);
        Ok(CountUntil { until, count: from.number()? })
    })?;
    Ok((counter, (node, count, changes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of a payload, and how many rows were left out.
    fn read_back(bytes: &[u8]) -> (Counters, u64) {
        let (mut counters, mut tally) = (Counters::default(), Tally::default());
        read(&mut counters, &mut tally, &mut Reader::new(bytes)).unwrap();
        (counters, tally.into_counts().map(|(_, count)| count).sum())
    }

    #[test]
    fn a_number_of_before_there_were_names_is_one() {
        let numbered = [1, 5, 3, 60, 0, 0]; // one row of counter 5, no notes, nothing more
        let (counters, left_out) = read_back(&numbered);
        assert_eq!(
            (&*counters.rows[0].counter, counters.rows[0].count, left_out),
            ("function traces", 60, 0)
        );
    }

    #[test]
    fn a_counter_without_a_name_is_left_out_and_counted() {
        let named = |number: u8| [1, number, 3, 60, 0, 0, 1, 5, b'p', b'a', b'g', b'e', b's'];
        let rows = |number| read_back(&named(number)).0.rows.len();
        assert_eq!((&*read_back(&named(64)).0.rows[0].counter, rows(64)), ("pages", 1));
        assert_eq!([0, 22, 63, 65].map(|number| (rows(number), read_back(&named(number)).1)), [(0, 1); 4]);
    }
}
