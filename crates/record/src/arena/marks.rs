//! Loops and marks of an arena, and what sites had at the marks. As with everything in an arena no number is trusted.

use std::mem::offset_of;

use heaplens_format::arena::marks::{
    CHANGE_SIZE, ChangeRecord, LOOP_COUNTED, LOOP_SHARED, LOOP_SIZE, LOOP_UNSURE, LoopRecord, MARK_SIZE,
    MarkRecord, MarkTag, Moment,
};
use heaplens_format::recording::{Amount, Change, Frame, History, Loop, Mark, MarkKind, SiteKind, Stage};
use heaplens_format::{Bytes, CodeId, LoopId, Nanos};

use super::codes::Codes;
use super::records::{string, word};
use super::site_counters::Sum;

/// The records that a site comes from, and what each has live now. The second is 0 where there is none.
pub(crate) struct Records {
    pub(crate) numbers: [u32; 2],
    pub(crate) live: [Sum; 2],
    pub(crate) kind: SiteKind,
}

/// The loops; record 0 stands for "none".
pub(crate) fn loops(records: &[u8], codes: &mut Codes<'_>, since_start: impl Fn(u64) -> Nanos) -> Vec<Loop> {
    let records: Vec<&[u8]> = records.chunks_exact(LOOP_SIZE).skip(1).collect();
    let count = records.len() as u32;
    let around = |number: u32| (1..=count).contains(&number).then(|| LoopId::new(number));
    records.into_iter().map(|record| one_loop(record, codes, around, &since_start)).collect()
}

fn one_loop(
    record: &[u8],
    codes: &mut Codes<'_>,
    around: impl Fn(u32) -> Option<LoopId>,
    since_start: impl Fn(u64) -> Nanos,
) -> Loop {
    let field = |at: usize| word(record, at);
    let location = field(offset_of!(LoopRecord, location));
    let (code, first) = ((location >> 32) as u32, location as u32);
    let last_and_flags = field(offset_of!(LoopRecord, last));
    let (last, flags) = (last_and_flags as u32, (last_and_flags >> 32) as u32);
    let parent_and_slot = field(offset_of!(LoopRecord, parent));
    // A loop over an iterator begins with what takes the next item; in any other the condition may be at its end.
    let ends = if flags & LOOP_COUNTED != 0 { [first, first] } else { [first, last] };
    let lines = ends.map(|instruction| line_of(codes, code, instruction));
    Loop {
        code: CodeId::new(if codes.has(code) { code } else { 0 }),
        line: lines.into_iter().filter(|&line| line != 0).min().unwrap_or(0),
        around: around(parent_and_slot as u32),
        thread: (parent_and_slot >> 32) as u32,
        iterations: field(offset_of!(LoopRecord, iterations)),
        is_exact: flags & (LOOP_COUNTED | LOOP_UNSURE | LOOP_SHARED) == LOOP_COUNTED
            && field(offset_of!(LoopRecord, left)) == 0,
        runs: field(offset_of!(LoopRecord, runs)),
        first: since_start(field(offset_of!(LoopRecord, first_ns))),
        last: since_start(field(offset_of!(LoopRecord, last_ns))),
    }
}

fn line_of(codes: &mut Codes<'_>, code: u32, instruction: u32) -> u32 {
    match codes.frame(code, instruction) {
        Frame::Python { line, .. } => line,
        _ => 0,
    }
}

/// The marks in the order of time, and which of the arena's they are: the user's latest one is among them also where it
/// was not kept, and then no site has a value for it.
pub(crate) fn marks(
    records: &[u8],
    moment: Moment,
    strings: &[u8],
    loops: &[Loop],
    since_start: impl Fn(u64) -> Nanos,
) -> (Vec<Mark>, u32) {
    let kept = (records.len() / MARK_SIZE).saturating_sub(1).min(moment.mark() as usize);
    let read = |record: &[u8]| mark(record, strings, loops.len(), &since_start);
    let records: Vec<&[u8]> = records.chunks_exact(MARK_SIZE).take(kept + 1).collect();
    let mut marks: Vec<Mark> = Vec::with_capacity(kept + 1);
    for record in records.iter().skip(1) {
        let mark = read(record).unwrap_or_else(|| nameless(marks.last()));
        marks.push(mark);
    }
    let latest = records.first().and_then(|record| read(record));
    marks.extend(latest.filter(|latest| is_later(latest, &marks)).into_iter().collect::<Vec<_>>());
    (marks, kept as u32)
}

/// A torn one stays as a mark without a name, so that the numbers of marks do not change.
fn nameless(before: Option<&Mark>) -> Mark {
    let (at, live) = before.map_or_else(Default::default, |before| (before.at, before.live));
    Mark { at, live, kind: MarkKind::User { number: 0, label: String::new() } }
}

/// The bytes that the records of so many marks take; those that the recorder made come after what the agent counts as used.
pub(crate) fn length(moment: Moment) -> Bytes {
    Bytes::new((u64::from(moment.mark()) + 1) * MARK_SIZE as u64)
}

/// Whether it has a higher number than all others of its kind.
fn is_later(latest: &Mark, marks: &[Mark]) -> bool {
    let number = |mark: &Mark| match (&mark.kind, &latest.kind) {
        (MarkKind::User { number, .. }, MarkKind::User { .. })
        | (MarkKind::Run { number }, MarkKind::Run { .. }) => Some(*number),
        _ => None,
    };
    number(latest) > marks.iter().rev().find_map(number)
}

fn mark(record: &[u8], strings: &[u8], loops: usize, since_start: impl Fn(u64) -> Nanos) -> Option<Mark> {
    let field = |at: usize| word(record, at);
    let first = field(offset_of!(MarkRecord, kind));
    let (kind, of_loop, number) = (first as u32, (first >> 32) as u32, field(offset_of!(MarkRecord, number)));
    let kind = match MarkTag::from_number(kind)? {
        MarkTag::Iteration if (1..=loops).contains(&(of_loop as usize)) => {
            MarkKind::Iteration { of_loop: LoopId::new(of_loop), iterations: number }
        }
        MarkTag::Iteration => return None,
        MarkTag::User => {
            let label = string(strings, field(offset_of!(MarkRecord, label)));
            MarkKind::User { number, label: String::from_utf8_lossy(label).into_owned() }
        }
        MarkTag::EndOfScript => MarkKind::EndOfScript,
        MarkTag::BeforeTest => MarkKind::Test { stage: Stage::Before, rss: Bytes::new(number) },
        MarkTag::Collected => MarkKind::Test { stage: Stage::Collected, rss: Bytes::new(number) },
        MarkTag::Trimmed => MarkKind::Test { stage: Stage::Trimmed, rss: Bytes::new(number) },
        MarkTag::Interval => MarkKind::Interval,
        MarkTag::Run => MarkKind::Run { number },
        MarkTag::SectionBegun => MarkKind::Section { number: of_loop, pass: number, is_end: false },
        MarkTag::SectionEnded => MarkKind::Section { number: of_loop, pass: number, is_end: true },
    };
    Some(Mark {
        at: since_start(field(offset_of!(MarkRecord, at_ns))),
        live: Bytes::new(field(offset_of!(MarkRecord, live_bytes))),
        kind,
    })
}

/// What a record had until a mark.
type Until = (u32, Sum);

/// What sites had at marks: the sum of what their records had. `amount` converts a sum as the reader of sites does.
pub(crate) fn histories(
    changes: &Changes,
    sites: &[Records],
    amount: impl Fn(Sum, SiteKind) -> Amount,
) -> Vec<History> {
    let history = |(site, records): (u32, &Records)| {
        let changes = changes.sums(records.numbers, records.live);
        let changes = changes.map(|(until, sum)| Change { until, live: amount(sum, records.kind) }).collect();
        History { site, changes }
    };
    (0..).zip(sites).map(history).filter(|history| !history.changes.is_empty()).collect()
}

/// What records had at marks, in the order of the records and of the marks. There may be millions of both.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Where the entries of each record begin, and where the last ones end.
    first: Vec<usize>,
    entries: Vec<Until>,
}

impl Changes {
    /// The entries of records up to `last`: others are those of a mark that was made while this was being read, or were torn.
    pub(crate) fn read(changes: &[u8], marks: u32, last: u32) -> Self {
        let entries = || {
            changes.chunks_exact(CHANGE_SIZE).filter_map(|change| {
                let numbers = word(change, offset_of!(ChangeRecord, record));
                let (record, mark) = (numbers as u32, (numbers >> 32) as u32);
                ((1..=marks).contains(&mark) && record <= last).then_some((record as usize, mark, change))
            })
        };
        let mut first = vec![0; last as usize + 2];
        entries().for_each(|(record, ..)| first[record + 1] += 1);
        for record in 1..first.len() {
            first[record] += first[record - 1];
        }
        let mut sorted = vec![(0, Sum::default()); first.last().copied().unwrap_or(0)];
        let mut next = first.clone();
        for (record, mark, change) in entries() {
            let field = |at: usize| word(change, at) as i64;
            let [bytes, blocks] =
                [offset_of!(ChangeRecord, live_bytes), offset_of!(ChangeRecord, live_blocks)].map(field);
            sorted[next[record]] = (mark, Sum { bytes, blocks });
            next[record] += 1;
        }
        // A thread that was preempted writes its entry after that of a later mark.
        for record in first.windows(2) {
            sorted[record[0]..record[1]].sort_by_key(|&(mark, _)| mark);
        }
        Self { first, entries: sorted }
    }

    fn of(&self, record: u32) -> &[Until] {
        match self.first.get(record as usize..record as usize + 2) {
            Some(&[first, end]) => &self.entries[first..end],
            _ => &[],
        }
    }

    /// What a site had whose records these are; the second record is 0 where there is none.
    pub(crate) fn sums(&self, [own, second]: [u32; 2], now: [Sum; 2]) -> impl Iterator<Item = Until> {
        sums([self.of(own), if second == 0 { &[] } else { self.of(second) }], now)
    }
}

/// The sum of two time series: it changes wherever one of them does.
fn sums(parts: [&[Until]; 2], now: [Sum; 2]) -> impl Iterator<Item = Until> {
    let mut ends: Vec<u32> = parts.iter().flat_map(|part| part.iter().map(|&(until, _)| until)).collect();
    ends.sort_unstable();
    ends.dedup();
    let at = |part: &[Until], now: Sum, mark: u32| {
        let next = part.partition_point(|&(until, _)| until < mark);
        part.get(next).map_or(now, |&(_, live)| live)
    };
    ends.into_iter().map(move |mark| (mark, at(parts[0], now[0], mark).plus(at(parts[1], now[1], mark))))
}

// The readers take both halves of one word.
const _: () = assert!(offset_of!(LoopRecord, flags) == offset_of!(LoopRecord, last) + 4);
const _: () = assert!(offset_of!(LoopRecord, slot) == offset_of!(LoopRecord, parent) + 4);
const _: () = assert!(offset_of!(MarkRecord, of_loop) == offset_of!(MarkRecord, kind) + 4);
const _: () = assert!(offset_of!(ChangeRecord, mark) == offset_of!(ChangeRecord, record) + 4);

#[cfg(test)]
mod tests {
    use super::*;

    fn change(record: u32, mark: u32, live: u64) -> Vec<u8> {
        let words = [live, live / 4, u64::from(mark) << 32 | u64::from(record)];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn site(numbers: [u32; 2], live: [i64; 2]) -> Records {
        Records { numbers, live: live.map(|bytes| Sum { bytes, blocks: bytes / 4 }), kind: SiteKind::Heap }
    }

    /// Until which mark so many bytes.
    fn found(changes: &[u8], site: Records) -> Vec<(u32, u64)> {
        let amount = |sum: Sum, _| Amount { bytes: Bytes::new(sum.bytes as u64), blocks: sum.blocks as u64 };
        let last = site.numbers.into_iter().max().unwrap_or(0);
        let histories = histories(&Changes::read(changes, 3, last), &[site], amount);
        let changes = histories.iter().flat_map(|history| &history.changes);
        assert!(changes.clone().all(|change| change.live.blocks == change.live.bytes.get() / 4));
        changes.map(|change| (change.until, change.live.bytes.get())).collect()
    }

    #[test]
    fn a_site_with_two_records_has_their_sum_at_every_mark() {
        let changes = [change(4, 1, 100), change(7, 2, 8), change(4, 3, 160), change(9, 2, 1)].concat();
        assert_eq!(found(&changes, site([4, 7], [200, -20])), [(1, 108), (2, 168), (3, 140)]);
    }

    #[test]
    fn entries_that_were_torn_or_come_from_later_marks_are_left_out() {
        let changes = [change(4, 0, 100), change(4, 9, 8), change(4, 2, 8), change(4, 2, 12)].concat();
        assert_eq!(found(&changes, site([4, 0], [200, 0])), [(2, 8)]);
    }
}
