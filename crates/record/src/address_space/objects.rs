//! The sampled small objects of Python in a process, out of the table that the agent keeps there.

use std::io;
use std::mem::offset_of;

use heaplens_format::arena::python::{OBJECT_SAMPLE_SIZE, OBJECT_SAMPLES, ObjectSample};
use heaplens_format::{Addr, Bytes, Pid};
use heaplens_snapshot::{Block, Span};

use super::pages::{PAGE, Pagemap};
use crate::arena::word;
use crate::os::memory;

/// Instead of a size: the object is being freed.
const FREED: u32 = u32::MAX;

/// The objects in the table at an address of the process. Pages of it that were never touched are not read, which would make them resident.
pub(crate) fn read(process: Pid, pagemap: &mut Pagemap, table: Addr) -> io::Result<Vec<Block>> {
    let mut bytes = vec![0; OBJECT_SAMPLES * OBJECT_SAMPLE_SIZE];
    let span = Span::of_length(table, Bytes::new(bytes.len() as u64));
    for touched in pagemap.touched(whole_pages(span))? {
        let (from, to) = (touched.start.max(span.start), touched.end.min(span.end));
        let part = &mut bytes[(from - table).get() as usize..(to - table).get() as usize];
        memory::read(process, from, part);
    }
    Ok(bytes.chunks_exact(OBJECT_SAMPLE_SIZE).filter_map(object).collect())
}

fn whole_pages(span: Span) -> Span {
    let (start, end) = (span.start.get() / PAGE * PAGE, span.end.get().next_multiple_of(PAGE));
    Span::new(Addr::new(start), Addr::new(end))
}

fn object(record: &[u8]) -> Option<Block> {
    let address = word(record, offset_of!(ObjectSample, addr));
    let site_and_size = word(record, offset_of!(ObjectSample, site));
    let (site, size) = (site_and_size as u32, (site_and_size >> 32) as u32);
    (address != 0 && size != FREED).then(|| block(Addr::new(address), size, site))
}

fn block(address: Addr, size: u32, site: u32) -> Block {
    Block { address, size: Bytes::new(size.into()), site }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(address: u64, site: u32, size: u32) -> Vec<u8> {
        [address.to_le_bytes().as_slice(), &site.to_le_bytes(), &size.to_le_bytes()].concat()
    }

    #[test]
    fn free_slots_and_objects_that_are_being_freed_do_not_count() {
        assert_eq!(object(&record(64, 7, 48)), Some(block(Addr::new(64), 48, 7)));
        assert_eq!(object(&record(0, 7, 48)), None);
        assert_eq!(object(&record(64, 7, FREED)), None);
    }

    #[test]
    fn a_table_that_is_not_mapped_has_none() {
        let own = Pid::new(std::process::id());
        assert_eq!(read(own, &mut Pagemap::open(own).unwrap(), Addr::new(8)).unwrap(), []);
    }
}
