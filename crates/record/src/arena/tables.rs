//! Reads the tables of an arena while its process writes them: whole ranges with `pread`, no number trusted. For a copy that was
//! made while the process was stopped, the tables that change are those of the copy.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

use heaplens_format::arena::header::{HEADER_SIZE, Region, RegionView};
use heaplens_format::arena::table::MappingRecord;
use heaplens_format::arena::{HeaderView, MAPPING_SIZE};
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::Span;

use super::copied::Copied;
use super::records::word;

/// How often a table is read when it keeps changing.
const ATTEMPTS: usize = 4;

/// The file of one arena, with its header as it was at one moment.
pub(crate) struct Tables<'a> {
    file: &'a File,
    copied: Option<&'a Copied>,
    header: Vec<u8>,
    length: Bytes,
}

/// A mapping that the agent saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeenMapping {
    /// Where it lies.
    pub(crate) span: Span,
    /// The stack that mapped it; 0 for the allocator's own.
    pub(crate) site: u32,
}

impl<'a> Tables<'a> {
    /// Reads the header; `None` when the file is no arena.
    pub(crate) fn open(file: &'a File) -> Option<Self> {
        let mut header = vec![0; HEADER_SIZE];
        file.read_exact_at(&mut header, 0).ok()?;
        HeaderView::new(&header)?;
        let length = Bytes::new(file.metadata().ok()?.len());
        Some(Self { file, copied: None, header, length })
    }

    /// As they were when the copy was made.
    pub(crate) fn of_copy(file: &'a File, copied: &'a Copied) -> Option<Self> {
        let header = copied.header().to_vec();
        HeaderView::new(&header)?;
        let length = Bytes::new(file.metadata().ok()?.len());
        Some(Self { file, copied: Some(copied), header, length })
    }

    pub(crate) fn header(&self) -> Option<HeaderView<'_>> {
        HeaderView::new(&self.header)
    }

    /// Where a region is; empty when it extends beyond the end of the file.
    pub(crate) fn region(&self, region: Region) -> RegionView {
        let nothing = RegionView { offset: 0, capacity: 0, reserved: 0, used: 0 };
        let view = self.header().map_or(nothing, |header| header.region(region));
        match view.offset.checked_add(view.used) {
            Some(end) if end <= self.length.get() => view,
            _ => nothing,
        }
    }

    /// Bytes of a region from `start` to `end`, which are cut to what is in use.
    pub(crate) fn bytes(&self, region: Region, start: u64, end: u64) -> io::Result<Vec<u8>> {
        let view = self.region(region);
        let end = end.min(view.used);
        let mut bytes = vec![0; end.saturating_sub(start) as usize];
        self.read_at(view.offset + start, &mut bytes)?;
        Ok(bytes)
    }

    /// The same into a buffer; what lies beyond is left as it is.
    pub(crate) fn read(&self, region: Region, start: u64, into: &mut [u8]) -> io::Result<()> {
        let view = self.region(region);
        let length = view.used.saturating_sub(start).min(into.len() as u64) as usize;
        self.read_at(view.offset + start, &mut into[..length])
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match self.copied.and_then(|copied| copied.get(offset, into.len())) {
            Some(bytes) => into.copy_from_slice(bytes),
            None => self.file.read_exact_at(into, offset)?,
        }
        Ok(())
    }

    /// The mappings that were seen, sorted by address.
    pub(crate) fn mappings(&self) -> io::Result<Vec<SeenMapping>> {
        let rows = match self.copied {
            Some(_) => self.mapping_rows()?.1,
            None => self.settled_mappings()?,
        };
        let row = |row: &[u8]| {
            let address = |at: usize| Addr::new(word(row, at));
            let (start, end) = (offset_of!(MappingRecord, start), offset_of!(MappingRecord, end));
            let site = word(row, offset_of!(MappingRecord, site)) as u32;
            SeenMapping { span: Span::new(address(start), address(end)), site }
        };
        Ok(rows.chunks_exact(MAPPING_SIZE).map(row).filter(|row| row.span.start < row.span.end).collect())
    }

    /// Their records, as they are when nobody changes them.
    fn settled_mappings(&self) -> io::Result<Vec<u8>> {
        let mut rows = Vec::new();
        for _ in 0..ATTEMPTS {
            let Some(now) = Tables::open(self.file) else { break };
            let (before, found) = now.mapping_rows()?;
            rows = found;
            let after = Tables::open(self.file).map(|tables| tables.mappings_sequence());
            if before.is_multiple_of(2) && after == Some(before) {
                break;
            }
        }
        Ok(rows)
    }

    fn mapping_rows(&self) -> io::Result<(u64, Vec<u8>)> {
        let count = self.header().map_or(0, |header| header.mappings());
        let rows = self.bytes(Region::Mappings, 0, count.saturating_mul(MAPPING_SIZE as u64))?;
        Ok((self.mappings_sequence(), rows))
    }

    fn mappings_sequence(&self) -> u64 {
        self.header().map_or(0, |header| header.mappings_sequence())
    }
}
