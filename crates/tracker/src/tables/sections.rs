//! Which sections there are and which are open (`format::arena::section`): parts of the program whose leaks are checked. All threads
//! allocate in a section that any of them opened.
//!
//! A section that is opened while it is open is one pass until it was closed as often: so recursive functions, and several threads
//! that run the same part at the same time, are one pass together.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::NodeId;
use heaplens_format::arena::Region;
use heaplens_format::arena::section::{LONGEST_NAME, MOST_SECTIONS, SectionRecord};
use heaplens_format::atomic::{AtomicBool, AtomicU32};

use super::arena::Arena;

/// How often one waits for another thread that opens or closes a section: that takes some microseconds.
const MOST_SPINS: usize = 1 << 20;

/// The open sections.
#[derive(Debug, Default)]
pub struct Sections {
    /// Their bits.
    open: AtomicU32,
    busy: AtomicBool,
}

/// A pass that began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionPass {
    /// The number of the section.
    pub section: u32,
    /// Counted from 1.
    pub number: u32,
}

/// Whoever has it opens and closes sections, and nobody else meanwhile.
#[derive(Debug)]
pub struct SectionTurn<'a>(&'a Sections);

impl Drop for SectionTurn<'_> {
    fn drop(&mut self) {
        self.0.busy.store(false, Release);
    }
}

impl Sections {
    /// None is open.
    pub const fn new() -> Self {
        Self { open: AtomicU32::new(0), busy: AtomicBool::new(false) }
    }

    /// The arena was replaced: a forked child has no section open.
    pub fn reset(&self) {
        self.open.store(0, Relaxed);
        self.busy.store(false, Relaxed);
    }

    /// The bits of the open ones.
    #[inline(always)]
    pub fn open(&self) -> u32 {
        self.open.load(Relaxed)
    }

    /// `None`: another thread was at it for too long.
    pub fn turn(&self) -> Option<SectionTurn<'_>> {
        for _ in 0..MOST_SPINS {
            // Acquire: pairs with the Release of `SectionTurn`: what the one before wrote is seen.
            if !self.busy.swap(true, Acquire) {
                return Some(SectionTurn(self));
            }
            core::hint::spin_loop();
        }
        None
    }
}

impl SectionTurn<'_> {
    /// Opens a section; `Ok` with its new pass, or without one where it was open. `Err`: there are too many, or the arena is full.
    pub fn open(&self, arena: &Arena, name: &[u8]) -> Result<Option<SectionPass>, TooManySections> {
        let name = &name[..name.len().min(LONGEST_NAME)];
        let (section, record) = match find(arena, name) {
            Some(found) => found,
            None => add(arena, name).ok_or(TooManySections)?,
        };
        let open = record.open.load(Relaxed);
        record.open.store(open + 1, Relaxed);
        if open != 0 {
            return Ok(None);
        }
        let number = record.passes.load(Relaxed).saturating_add(1);
        record.passes.store(number, Relaxed);
        Ok(Some(SectionPass { section, number }))
    }

    /// From now on what is allocated is the section's.
    pub fn begin(&self, pass: SectionPass) {
        self.0.open.fetch_or(1 << pass.section, Relaxed);
    }

    /// Closes a section; the pass that ends with it. `None`: it is not open, or open once more.
    pub fn close(&self, arena: &Arena, name: &[u8]) -> Option<SectionPass> {
        let (section, record) = find(arena, &name[..name.len().min(LONGEST_NAME)])?;
        let left = record.open.load(Relaxed).checked_sub(1)?;
        record.open.store(left, Relaxed);
        if left != 0 {
            return None;
        }
        self.0.open.fetch_and(!(1 << section), Relaxed);
        Some(SectionPass { section, number: record.passes.load(Relaxed) })
    }

    /// Whether a section of this name is open.
    pub fn is_open(&self, arena: &Arena, name: &[u8]) -> bool {
        let found = find(arena, &name[..name.len().min(LONGEST_NAME)]);
        found.is_some_and(|(_, record)| record.open.load(Relaxed) != 0)
    }

    /// Notes where a section was opened first.
    pub fn note_begin(&self, arena: &Arena, pass: SectionPass, node: NodeId) {
        if let Some(record) = arena.header().sections.get(pass.section as usize)
            && pass.number == 1
        {
            record.begun.store(node.get(), Relaxed);
        }
    }
}

/// There is no room for another section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManySections;

/// Notes the heap snapshot that the end of a section has asked for.
pub fn note_snapshot(arena: &Arena, section: u32, number: u32) {
    if let Some(record) = arena.header().sections.get(section as usize) {
        record.snapshot.store(number, Relaxed);
    }
}

fn find<'a>(arena: &'a Arena, name: &[u8]) -> Option<(u32, &'a SectionRecord)> {
    let mut records = (0..MOST_SECTIONS as u32).zip(&arena.header().sections);
    records.find(|(_, record)| name_of(arena, record) == Some(name))
}

fn add<'a>(arena: &'a Arena, name: &[u8]) -> Option<(u32, &'a SectionRecord)> {
    let mut records = (0..MOST_SECTIONS as u32).zip(&arena.header().sections);
    let (section, record) = records.find(|(_, record)| record.name.load(Relaxed) == 0)?;
    // An empty name has a place, too, which is never 0: that stands for no section.
    let offset = arena.take(Region::Strings, name.len() as u64 + 1)? + 1;
    let target = arena.address(Region::Strings, offset) as *mut u8;
    // SAFETY: as many bytes were taken there, and nobody else writes them.
    unsafe { core::ptr::copy_nonoverlapping(name.as_ptr(), target, name.len()) };
    // Release: a reader that sees the place sees the name.
    record.name.store((offset as u64) << 32 | name.len() as u64, Release);
    Some((section, record))
}

fn name_of<'a>(arena: &'a Arena, record: &SectionRecord) -> Option<&'a [u8]> {
    let name = record.name.load(Acquire);
    let (offset, length) = ((name >> 32) as usize, name as u32 as usize);
    let start = arena.address(Region::Strings, offset) as *const u8;
    // SAFETY: `add` took as many bytes there, wrote them once and then stored where they are.
    (name != 0).then(|| unsafe { core::slice::from_raw_parts(start, length) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scratch::scratch;

    fn pass(section: u32, number: u32) -> SectionPass {
        SectionPass { section, number }
    }

    /// Opens it as an event does.
    fn open(sections: &Sections, arena: &Arena, name: &[u8]) -> Result<Option<SectionPass>, TooManySections> {
        let turn = sections.turn().unwrap();
        let opened = turn.open(arena, name)?;
        opened.into_iter().for_each(|pass| turn.begin(pass));
        Ok(opened)
    }

    fn close(sections: &Sections, arena: &Arena, name: &[u8]) -> Option<SectionPass> {
        sections.turn().unwrap().close(arena, name)
    }

    #[test]
    fn sections_nest_and_overlap_and_each_has_its_passes() {
        let (arena, sections) = (scratch(), Sections::new());
        assert_eq!(open(&sections, &arena, b"eval"), Ok(Some(pass(0, 1))));
        assert_eq!(open(&sections, &arena, b"io"), Ok(Some(pass(1, 1))));
        assert_eq!(sections.open(), 0b11);
        assert_eq!(close(&sections, &arena, b"eval"), Some(pass(0, 1)));
        assert_eq!(sections.open(), 0b10);
        assert_eq!(open(&sections, &arena, b"eval"), Ok(Some(pass(0, 2))));
        assert_eq!(close(&sections, &arena, b"io"), Some(pass(1, 1)));
        assert_eq!(sections.open(), 0b1);
    }

    #[test]
    fn a_section_that_is_opened_twice_ends_when_it_was_closed_twice() {
        let (arena, sections) = (scratch(), Sections::new());
        assert_eq!(open(&sections, &arena, b"eval"), Ok(Some(pass(0, 1))));
        assert_eq!(open(&sections, &arena, b"eval"), Ok(None));
        assert_eq!(close(&sections, &arena, b"eval"), None);
        assert_eq!(sections.open(), 1);
        assert_eq!(close(&sections, &arena, b"eval"), Some(pass(0, 1)));
        assert_eq!((sections.open(), close(&sections, &arena, b"eval")), (0, None));
    }

    #[test]
    fn what_was_never_opened_cannot_be_closed_and_too_many_cannot_be_opened() {
        let (arena, sections) = (scratch(), Sections::new());
        assert_eq!(close(&sections, &arena, b"eval"), None);
        for number in 0..MOST_SECTIONS {
            assert_eq!(open(&sections, &arena, &[number as u8; 3]), Ok(Some(pass(number as u32, 1))));
        }
        assert_eq!(open(&sections, &arena, b"one more"), Err(TooManySections));
        assert_eq!(open(&sections, &arena, &[0; 3]), Ok(None));
    }

    #[test]
    fn a_long_name_is_cut_the_same_way_each_time_and_an_empty_one_is_a_name() {
        let (arena, sections) = (scratch(), Sections::new());
        let long = [b'x'; 3 * LONGEST_NAME];
        assert_eq!(open(&sections, &arena, &long), Ok(Some(pass(0, 1))));
        assert_eq!(open(&sections, &arena, b""), Ok(Some(pass(1, 1))));
        assert_eq!(close(&sections, &arena, &long), Some(pass(0, 1)));
        assert_eq!(close(&sections, &arena, b""), Some(pass(1, 1)));
    }
}
