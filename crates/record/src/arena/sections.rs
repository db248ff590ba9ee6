//! The sections of an arena: parts of the program whose leaks are checked. While the program runs, which of them there are and which
//! sites are theirs; at its end, what the recording says of them.

use std::fs::File;
use std::io;
use std::mem::offset_of;

use heaplens_format::arena::frame::split_sections_frame;
use heaplens_format::arena::section::SectionView;
use heaplens_format::arena::table::{NodeRecord, SiteIdentity, SiteRecord};
use heaplens_format::arena::{HeaderView, NODE_SIZE, Region, SITE_SIZE};
use heaplens_format::recording::{CheckedSection, SectionCheck};

use super::error::ArenaError;
use super::header::header_bytes;
use super::records::{string, word};
use super::tables::Tables;

/// The sections that were ever opened, by their numbers.
pub(crate) fn read_sections(file: &File) -> Result<Vec<(u32, SectionView)>, ArenaError> {
    let bytes = header_bytes(file)?;
    let header = HeaderView::new(&bytes).ok_or(ArenaError::NotAnArena)?;
    Ok(header.sections().collect())
}

/// The sites of a section, in order.
pub(crate) fn sites_of_section(file: &File, section: u32) -> io::Result<Vec<u32>> {
    let tables = Tables::open(file).ok_or(io::ErrorKind::InvalidData)?;
    let sites = tables.bytes(Region::Sites, 0, u64::MAX)?;
    let nodes = tables.bytes(Region::Nodes, 0, u64::MAX)?;
    let is_of_section = |record: &[u8]| {
        let identity = SiteIdentity::from_raw(word(record, offset_of!(SiteRecord, identity)));
        identity.is_some_and(|identity| sections_of_node(&nodes, identity.node()) >> section & 1 != 0)
    };
    let sites = (0..).zip(sites.chunks_exact(SITE_SIZE)).filter(|(_, record)| is_of_section(record));
    Ok(sites.map(|(number, _)| number).collect())
}

/// The bits of the sections that a node stands for; none for the nodes of frames.
fn sections_of_node(nodes: &[u8], node: u32) -> u32 {
    let start = node as usize * NODE_SIZE;
    let record = nodes.get(start..start + NODE_SIZE);
    record.and_then(|record| split_sections_frame(word(record, offset_of!(NodeRecord, frame)))).unwrap_or(0)
}

/// A section as the recording has it, without its stack. `sets` are the sections of each site, as bits.
pub(super) fn section(
    (number, view): (u32, SectionView),
    strings: &[u8],
    sets: &[u32],
    check: Option<SectionCheck>,
) -> CheckedSection {
    let is_own = |set: u32| set >> number & 1 != 0;
    CheckedSection {
        number,
        name: String::from_utf8_lossy(string(strings, view.name)).into(),
        passes: view.passes.into(),
        is_open: view.open != 0,
        sites: (0..).zip(sets).filter(|(_, set)| is_own(**set)).map(|(site, _)| site).collect(),
        check,
        ..CheckedSection::default()
    }
}
