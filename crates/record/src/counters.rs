//! What was counted in an arena: sites that stand on a counter, whose blocks are events, and notes. As with everything in an
//! arena no number is trusted.

use std::mem::offset_of;

use heaplens_format::NodeId;
use heaplens_format::arena::Counter;
use heaplens_format::arena::counter::{LONGEST_NOTE, NOTE_SIZE, Note as NoteRecord};
use heaplens_format::recording::{CountUntil, CounterRow, Note};

use crate::arena::{Sum, string, word};
use crate::marks;

/// A counter of one stack, and the records that it comes from.
pub(crate) struct CounterRecords {
    pub(crate) counter: Counter,
    pub(crate) node: NodeId,
    pub(crate) numbers: [u32; 2],
    pub(crate) live: [Sum; 2],
}

/// How often each was counted, up to the end and up to marks. A stack may have several, whose sum is the truth: what adds
/// them up is the reader of the recording.
pub(crate) fn rows(counters: &[CounterRecords], changes: &[u8], marks: u32) -> Vec<CounterRow> {
    if counters.is_empty() {
        return Vec::new();
    }
    let by_record = marks::by_record(changes, marks);
    let of = |record: u32| by_record.get(&record).map_or(&[][..], Vec::as_slice);
    let row = |one: &CounterRecords| {
        let [own, second] = one.numbers;
        let parts = [of(own), if second == 0 { &[] } else { of(second) }];
        let changes = marks::sums(parts, one.live);
        let [first, second] = one.live;
        CounterRow {
            counter: one.counter,
            node: one.node,
            count: events(first.plus(second)),
            changes: changes.map(|(until, sum)| CountUntil { until, count: events(sum) }).collect(),
        }
    };
    counters.iter().map(row).collect()
}

fn events(sum: Sum) -> u64 {
    sum.blocks.max(0) as u64
}

/// The words; a torn note is none.
pub(crate) fn notes(records: &[u8], strings: &[u8]) -> Vec<Note> {
    let notes = records.chunks_exact(NOTE_SIZE).filter_map(|record| {
        let number = word(record, offset_of!(NoteRecord, counter)) as u32;
        let text = string(strings, word(record, offset_of!(NoteRecord, text)));
        let text = &text[..text.len().min(LONGEST_NOTE)];
        let counter = Counter::from_number(number.into())?;
        Some(Note { counter, text: String::from_utf8_lossy(text).into_owned() })
    });
    notes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_up_to_marks_and_torn_notes_are_left_out() {
        let change = |record: u64, mark: u64, blocks: u64| [0, blocks, mark << 32 | record];
        let changes = [change(4, 1, 3), change(4, 3, 9), change(5, 2, 7)].concat();
        let changes: Vec<u8> = changes.iter().flat_map(|word| word.to_le_bytes()).collect();
        let live = [Sum { bytes: 0, blocks: 12 }, Sum { bytes: 0, blocks: 0 }];
        let counter = Counter::GraphOperation;
        let one = CounterRecords { counter, node: NodeId::new(1), numbers: [4, 0], live };
        let rows = rows(&[one], &changes, 3);
        let expected = [(1, 3), (3, 9)].map(|(until, count)| CountUntil { until, count });
        assert_eq!((rows[0].count, &rows[0].changes[..]), (12, &expected[..]));
        let records: Vec<u8> = [4, 1, 4, 99].iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
        assert_eq!(notes(&records, b"wordy"), [Note { counter, text: "word".into() }]);
    }
}
