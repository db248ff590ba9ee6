//! The parts of a file that are debug information, in memory.

use std::path::Path;

use addr2line::gimli::{self, Dwarf, DwarfSections, EndianSlice, LittleEndian, SectionId};
use object::{Object, ObjectSection};

use crate::symbols::headers::open_cache;

/// Larger debug information is not read: the program may wait for a snapshot, and a quarter of a second reads about this much.
const LARGEST: u64 = 24 << 20;

/// Bytes of debug information.
pub(super) type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// All that is needed of a file.
pub(super) struct Sections(DwarfSections<Vec<u8>>);

impl Sections {
    /// `None` where there is none, or too much of it.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let cache = open_cache(path)?;
        let file = object::File::parse(&cache).ok()?;
        if !file.is_little_endian() || file.section_by_name(".debug_info")?.size() > LARGEST {
            return None;
        }
        let section = |id: SectionId| -> Result<Vec<u8>, gimli::Error> {
            let found = file.section_by_name(id.name()).filter(|_| is_needed(id));
            let data = found.and_then(|section| section.uncompressed_data().ok());
            Ok(data.map(std::borrow::Cow::into_owned).unwrap_or_default())
        };
        DwarfSections::load(section).ok().map(Self)
    }

    pub(super) fn dwarf(&self) -> Dwarf<Slice<'_>> {
        self.0.borrow(|bytes| EndianSlice::new(bytes, LittleEndian))
    }
}

/// Whether types and variables are described with a section.
fn is_needed(section: SectionId) -> bool {
    matches!(
        section,
        SectionId::DebugInfo
            | SectionId::DebugAbbrev
            | SectionId::DebugStr
            | SectionId::DebugLineStr
            | SectionId::DebugStrOffsets
            | SectionId::DebugAddr
            | SectionId::DebugRanges
            | SectionId::DebugRngLists
            | SectionId::DebugLoc
            | SectionId::DebugLocLists
            // Its header names the files.
            | SectionId::DebugLine
    )
}
