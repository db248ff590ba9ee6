//! Memory of a process that is a file's and cannot be written to. To read a page of it that the process never touched would bring
//! it in, with its neighbours, and count as memory of the program: such pages are read from the file.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use heaplens_format::{Addr, Pid};

use crate::ledger::{MappedArea, PAGE, Pagemap};
use crate::memory;

/// The files of one process, opened when they are needed.
#[derive(Debug)]
pub(crate) struct CodePages {
    process: Pid,
    pagemap: Option<Pagemap>,
    files: Mutex<HashMap<String, Option<File>>>,
}

impl CodePages {
    pub(crate) fn of(process: Pid) -> Self {
        Self { process, pagemap: Pagemap::open(process).ok(), files: Mutex::new(HashMap::new()) }
    }

    /// The part of a file that an address lies in, of areas in the order of addresses.
    pub(crate) fn area(areas: &[MappedArea], address: u64) -> Option<&MappedArea> {
        let area = &areas[areas.partition_point(|area| area.start <= address).checked_sub(1)?];
        (address < area.end && !area.is_writable && area.name.starts_with('/')).then_some(area)
    }

    /// Reads from an address on, page by page, as far as it can be read and the area reaches.
    pub(crate) fn read(&self, area: &MappedArea, address: u64, into: &mut [u8]) -> usize {
        let mut done = 0;
        while done < into.len() {
            let at = address + done as u64;
            if at >= area.end {
                // What lies behind it is not a file's, or another's.
                return done + memory::read(self.process, Addr::new(at), &mut into[done..]);
            }
            let length = ((PAGE - at % PAGE) as usize).min(into.len() - done);
            let part = &mut into[done..done + length];
            let read = match self.is_touched(at) {
                true => memory::read(self.process, Addr::new(at), part),
                false => self.read_file(area, at, part),
            };
            done += read;
            if read < length {
                break;
            }
        }
        done
    }

    /// Where that is not told, memory is all there is.
    fn is_touched(&self, address: u64) -> bool {
        self.pagemap.as_ref().is_none_or(|pagemap| pagemap.is_touched(address).unwrap_or(true))
    }

    fn read_file(&self, area: &MappedArea, address: u64, into: &mut [u8]) -> usize {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let file = files.entry(area.name.clone()).or_insert_with(|| File::open(&area.name).ok());
        let offset = area.offset + (address - area.start);
        file.as_ref().and_then(|file| file.read_at(into, offset).ok()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(start: u64, end: u64, name: &str) -> MappedArea {
        MappedArea { start, end, offset: 0x1000, name: name.into(), is_writable: false }
    }

    #[test]
    fn code_is_found_by_its_address() {
        let areas = [area(0x1000, 0x2000, "/a"), area(0x4000, 0x6000, "[heap]"), area(0x8000, 0x9000, "/b")];
        let name = |address: u64| CodePages::area(&areas, address).map(|area| area.name.as_str());
        assert_eq!(
            (name(0x1fff), name(0x2000), name(0x5000), name(0x8000)),
            (Some("/a"), None, None, Some("/b"))
        );
        assert_eq!(name(0), None);
    }

    #[test]
    fn a_page_that_nobody_touched_is_read_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("code");
        std::fs::write(&path, vec![7u8; 0x3000]).unwrap();
        // No process has memory there.
        let area = area(0x10_0000, 0x10_2000, path.to_str().unwrap());
        let mut bytes = [0; 16];
        let pages = CodePages::of(Pid::new(std::process::id()));
        assert_eq!(pages.read(&area, 0x10_0ff8, &mut bytes), 16);
        assert_eq!(bytes, [7; 16]);
    }
}
