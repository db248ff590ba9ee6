//! Counters of an arena: sites whose allocation kind is a counter and whose blocks are events, the names of counters, and notes. No
//! number is trusted: a counter without a name is left out.

use std::collections::HashMap;
use std::mem::offset_of;
use std::sync::Arc;

use heaplens_format::NodeId;
use heaplens_format::arena::CounterId;
use heaplens_format::arena::counter::{LONGEST_NAME, LONGEST_NOTE, NOTE_SIZE, NoteRecord};
use heaplens_format::recording::{CountUntil, CounterRow, Note};

use super::marks::Changes;
use super::records::{string, word};
use super::site_counters::Sum;

/// A counter of one stack, and the records that it comes from.
pub(crate) struct CounterRecords {
    pub(crate) counter: CounterId,
    pub(crate) node: NodeId,
    pub(crate) numbers: [u32; 2],
    pub(crate) live: [Sum; 2],
}

/// What counters are called.
pub(crate) struct Names(HashMap<CounterId, Arc<str>>);

impl Names {
    /// From the records of COUNTERS.
    pub(crate) fn new(records: &[u8], strings: &[u8]) -> Self {
        let text = |words: &[u8]| Arc::from(String::from_utf8_lossy(words));
        Self(words(records, strings, LONGEST_NAME).map(|(counter, name)| (counter, text(name))).collect())
    }

    /// How often each was counted, up to the end and up to marks. A stack may have several rows, which the reader of the recording
    /// adds up.
    pub(crate) fn rows(&self, counters: &[CounterRecords], changes: &Changes) -> Vec<CounterRow> {
        let row = |one: &CounterRecords| {
            let changes = changes.sums(one.numbers, one.live);
            let [first, second] = one.live;
            Some(CounterRow {
                counter: self.0.get(&one.counter)?.clone(),
                node: one.node,
                count: events(first.plus(second)),
                changes: changes.map(|(until, sum)| CountUntil { until, count: events(sum) }).collect(),
            })
        };
        counters.iter().filter_map(row).collect()
    }

    /// The notes, from the records of NOTES.
    pub(crate) fn notes(&self, records: &[u8], strings: &[u8]) -> Vec<Note> {
        let note = |(counter, text): (CounterId, &[u8])| {
            let text = String::from_utf8_lossy(text).into_owned();
            Some(Note { counter: self.0.get(&counter)?.clone(), text })
        };
        words(records, strings, LONGEST_NOTE).filter_map(note).collect()
    }
}

fn events(sum: Sum) -> u64 {
    sum.blocks.max(0) as u64
}

/// Records with their texts; torn ones are left out.
fn words<'a>(
    records: &'a [u8],
    strings: &'a [u8],
    longest: usize,
) -> impl Iterator<Item = (CounterId, &'a [u8])> {
    records.chunks_exact(NOTE_SIZE).filter_map(move |record| {
        let number = word(record, offset_of!(NoteRecord, counter)) as u32;
        let text = string(strings, word(record, offset_of!(NoteRecord, text)));
        Some((CounterId::new(number.into())?, &text[..text.len().min(longest)]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn events_are_counted_up_to_marks_and_torn_notes_are_left_out() {
        let change = |record: u64, mark: u64, blocks: u64| [0, blocks, mark << 32 | record];
        let changes = records(&[change(4, 1, 3), change(4, 3, 9), change(5, 2, 7)].concat());
        let live = [Sum { bytes: 0, blocks: 12 }, Sum { bytes: 0, blocks: 0 }];
        let of = |number| {
            let counter = CounterId::new(number).unwrap();
            CounterRecords { counter, node: NodeId::new(1), numbers: [4, 0], live }
        };
        let names = Names::new(&records(&[5 << 32 | 5, 1]), b"wordypages");
        let rows = names.rows(&[of(1), of(2)], &Changes::read(&changes, 3, 5));
        let expected = [(1, 3), (3, 9)].map(|(until, count)| CountUntil { until, count });
        assert_eq!(rows.len(), 1, "the other has no name");
        assert_eq!((&*rows[0].counter, rows[0].count, &rows[0].changes[..]), ("pages", 12, &expected[..]));
        let notes = records(&[4, 1, 4, 2, 4, 99_999]);
        assert_eq!(
            names.notes(&notes, b"wordypages"),
            [Note { counter: "pages".into(), text: "word".into() }]
        );
    }
}
