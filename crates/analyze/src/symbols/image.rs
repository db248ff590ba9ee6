//! Where a file lies in a process: how far its addresses are moved, and how far it reaches. Data without initial values follows
//! the mapped part of a file in memory that belongs to no file.

use std::ops::Range;
use std::path::Path;

use heaplens_format::Bytes;
use object::elf::{PT_LOAD, PT_TLS, ProgramHeader64};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};

use super::headers::open_cache;

const PAGE: u64 = 4096;

/// The parts of a file that are loaded.
pub(crate) struct Image {
    segments: Vec<Segment>,
    /// How many bytes of each thread's memory are its variables', aligned.
    thread_local: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    address: u64,
    offset: u64,
    in_file: u64,
    in_memory: u64,
}

impl Image {
    /// `None` when the file is gone or is no object file.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let cache = open_cache(path)?;
        let file = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
        let endian = file.endian();
        let segment = |header: &ProgramHeader64<Endianness>| Segment {
            address: header.p_vaddr(endian),
            offset: header.p_offset(endian),
            in_file: header.p_filesz(endian),
            in_memory: header.p_memsz(endian),
        };
        let headers = file.elf_program_headers().iter();
        let thread_local = headers.clone().find(|header| header.p_type(endian) == PT_TLS);
        let loaded = headers.filter(|header| header.p_type(endian) == PT_LOAD);
        Some(Self {
            segments: loaded.map(segment).collect(),
            thread_local: thread_local
                .map(|header| header.p_memsz(endian).next_multiple_of(header.p_align(endian).max(1))),
        })
    }

    /// The address and the size of a variable in a file, by the name of its symbol.
    pub(crate) fn variable(path: &Path, name: &str) -> Option<(u64, Bytes)> {
        let cache = open_cache(path)?;
        let file = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
        let mut symbols = file.dynamic_symbols().chain(file.symbols());
        let found = symbols.find(|symbol| symbol.is_definition() && symbol.name() == Ok(name))?;
        Some((found.address(), Bytes::new(found.size())))
    }

    /// How far the file is moved, from its mappings as (address, offset in the file): the answer that most of them agree on, since
    /// a page of the file may be part of two segments.
    pub(crate) fn bias(&self, mappings: &[(u64, u64)]) -> Option<u64> {
        let biases = mappings.iter().flat_map(|&(address, offset)| {
            let covering = self.segments.iter().filter(move |segment| segment.pages().contains(&offset));
            covering.map(move |segment| address.wrapping_sub(segment.address_of(offset)))
        });
        let biases: Vec<u64> = biases.collect();
        let votes = |bias: &u64| biases.iter().filter(|other| *other == bias).count();
        biases.iter().copied().max_by_key(votes)
    }

    /// How many bytes before each thread's control block are the variables of the program itself; of a library that is not known.
    pub(crate) fn thread_local(&self) -> Option<u64> {
        self.thread_local
    }

    /// The addresses that the file takes, as it says itself.
    pub(crate) fn extent(&self) -> Option<Range<u64>> {
        let start = self.segments.iter().map(|segment| segment.address).min()?;
        let ends = self.segments.iter().map(|segment| segment.address.saturating_add(segment.in_memory));
        Some(start / PAGE * PAGE..ends.max()?)
    }
}

impl Segment {
    /// What of the file its pages are, as offsets.
    fn pages(&self) -> Range<u64> {
        self.offset / PAGE * PAGE..self.offset.saturating_add(self.in_file)
    }

    fn address_of(&self, offset: u64) -> u64 {
        self.address.wrapping_sub(self.offset).wrapping_add(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(address: u64, offset: u64, in_file: u64, in_memory: u64) -> Segment {
        Segment { address, offset, in_file, in_memory }
    }

    #[test]
    fn mappings_agree_on_one_bias_although_segments_share_a_page() {
        let segments = vec![segment(0, 0, 0x1800, 0x1800), segment(0x2d00, 0x1d00, 0x400, 0x9000)];
        let image = Image { segments, thread_local: None };
        // The last page of the first segment is the first of the second.
        let mappings = [(0x7000_0000, 0), (0x7000_2000, 0x1000), (0x7000_3000, 0x2000)];
        assert_eq!(image.bias(&mappings), Some(0x7000_0000));
        assert_eq!(image.bias(&[(0x7000_3000, 0x2000)]), Some(0x7000_0000));
        assert_eq!(image.bias(&[]), None);
        assert_eq!(image.extent(), Some(0..0xbd00));
    }
}
