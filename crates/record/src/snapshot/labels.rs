//! Marks of the user's at which a snapshot is wanted, found by their label while the program runs. The snapshot is taken soon after
//! the mark, not at it: the program does not wait.

use std::fs::File;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

use heaplens_format::arena::header::RegionView;
use heaplens_format::arena::marks::{MARK_SIZE, MarkRecord, MarkTag};

use crate::arena::{HeaderReading, word};

/// Marks that are read at a time; of a program that makes more between two readings, the older ones are skipped.
const MOST: u32 = 4096;

/// The marks of one program that were seen.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    seen: u32,
}

impl Labels {
    /// Whether a new mark has this label.
    pub(crate) fn has_new(&mut self, arena: &File, header: &HeaderReading, label: &str) -> bool {
        let first = self.seen.max(header.marks.saturating_sub(MOST)) + 1;
        self.seen = self.seen.max(header.marks);
        (first..=header.marks).any(|number| is_labelled(arena, header, number, label.as_bytes()))
    }
}

fn is_labelled(arena: &File, header: &HeaderReading, number: u32, label: &[u8]) -> bool {
    let mut record = [0; MARK_SIZE];
    let start = u64::from(number) * MARK_SIZE as u64;
    read(arena, header.mark_records, start, &mut record) && {
        let kind = word(&record, offset_of!(MarkRecord, kind)) as u32;
        let string = word(&record, offset_of!(MarkRecord, label));
        let (start, length) = (string >> 32, (string & u64::from(u32::MAX)) as usize);
        let mut text = vec![0; label.len()];
        MarkTag::from_number(kind) == Some(MarkTag::User)
            && length == label.len()
            && read(arena, header.strings, start, &mut text)
            && text == label
    }
}

/// Whether these bytes of a table are there and could be read.
fn read(arena: &File, table: RegionView, start: u64, into: &mut [u8]) -> bool {
    let is_inside = start.checked_add(into.len() as u64).is_some_and(|end| end <= table.reserved);
    is_inside && arena.read_exact_at(into, table.offset + start).is_ok()
}
