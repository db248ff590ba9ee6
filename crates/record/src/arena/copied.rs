//! The tables of an arena that change, as they were at one moment: copied while the process is stopped, with one read for each
//! table, and interpreted later. Tables that only grow are read from the file, up to their length at that moment.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use heaplens_format::Bytes;
use heaplens_format::arena::header::{HEADER_SIZE, HeaderView, Region};
use heaplens_format::arena::{MAPPING_SIZE, PAGE};

/// The tables that change.
const CHANGING: [Region; 3] = [Region::Top, Region::Pages, Region::Mappings];
/// A table may grow by so many pages, and by this part of it, while the copy is being prepared.
const SPARE_PAGES: usize = 64;
const SPARE_PART: usize = 16;

/// The copy.
#[derive(Debug)]
pub(crate) struct Copied {
    header: Vec<u8>,
    tables: Vec<Table>,
}

#[derive(Debug)]
struct Table {
    region: Region,
    /// Where it is in the file.
    offset: u64,
    bytes: Vec<u8>,
    length: usize,
}

impl Copied {
    /// Allocates and touches the buffers while the process still runs: the page faults cost more than the copy.
    pub(crate) fn prepare(arena: &File) -> io::Result<Self> {
        let header = read_header(arena)?;
        let view = HeaderView::new(&header).ok_or(io::ErrorKind::InvalidData)?;
        let length = Bytes::new(arena.metadata()?.len());
        let tables = CHANGING.map(|region| {
            let used = used(&view, region, length);
            let mut bytes = vec![0; used + used / SPARE_PART + SPARE_PAGES * PAGE];
            bytes.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
            Table { region, offset: 0, bytes, length: 0 }
        });
        Ok(Self { header, tables: tables.into() })
    }

    /// Copies, while the process is stopped.
    pub(crate) fn fill(&mut self, arena: &File) -> io::Result<()> {
        self.header = read_header(arena)?;
        let view = HeaderView::new(&self.header).ok_or(io::ErrorKind::InvalidData)?;
        let length = Bytes::new(arena.metadata()?.len());
        for table in &mut self.tables {
            table.offset = view.region(table.region).offset;
            table.length = used(&view, table.region, length);
            if table.length > table.bytes.len() {
                table.bytes.resize(table.length, 0);
            }
            arena.read_exact_at(&mut table.bytes[..table.length], table.offset)?;
        }
        Ok(())
    }

    /// The header at that moment.
    pub(crate) fn header(&self) -> &[u8] {
        &self.header
    }

    /// Bytes of the file at that moment, if they are in a table that changes.
    pub(crate) fn get(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.tables.iter().find_map(|table| {
            let start = usize::try_from(offset.checked_sub(table.offset)?).ok()?;
            table.bytes[..table.length].get(start..start.checked_add(length)?)
        })
    }
}

fn read_header(arena: &File) -> io::Result<Vec<u8>> {
    let mut header = vec![0; HEADER_SIZE];
    arena.read_exact_at(&mut header, 0)?;
    Ok(header)
}

/// The length of a table. Of mappings only live records count, not their capacity; a table beyond the end of the file is empty.
fn used(view: &HeaderView<'_>, region: Region, file: Bytes) -> usize {
    let extent = view.region(region);
    let used = match region {
        Region::Mappings => extent.used.min(view.mappings().saturating_mul(MAPPING_SIZE as u64)),
        _ => extent.used,
    };
    let is_inside = extent.offset.checked_add(used).is_some_and(|end| end <= file.get());
    if is_inside { used as usize } else { 0 }
}
