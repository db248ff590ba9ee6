//! The memory of a frozen process, as a snapshot reads it. A page of a file that cannot be written to and that the process never
//! touched is read from the file: reading it from the process would make it and its neighbours resident, which would count as memory of
//! the program.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use heaplens_format::{Addr, Bytes, Pid};
use heaplens_snapshot::{Mapping, ReadMemory};

use crate::address_space::{PAGE, Pagemap};
use crate::os::memory;

/// Whatever keeps a process frozen: it lets the process go, or ends the copy, when it is dropped.
pub(super) trait Keeper: fmt::Debug + Send + Sync {}

impl<T: fmt::Debug + Send + Sync> Keeper for T {}

/// See the module.
#[derive(Debug)]
pub(super) struct ProcessMemory {
    process: Pid,
    /// Files that cannot be written to, in the order of addresses.
    code: Vec<Mapping>,
    pagemap: Option<Pagemap>,
    /// Those of them that were needed.
    files: Mutex<HashMap<String, Option<File>>>,
    /// Keeps the process frozen.
    _keeper: Box<dyn Keeper>,
}

impl ProcessMemory {
    /// Of a process that stays as it is as long as `keeper` is there. Mappings come in the order of addresses.
    pub(super) fn new(process: Pid, mappings: &[Mapping], keeper: Box<dyn Keeper>) -> Self {
        let is_code = |mapping: &&Mapping| !mapping.is_writable && mapping.file().is_some();
        Self {
            process,
            code: mappings.iter().filter(is_code).cloned().collect(),
            pagemap: Pagemap::open(process).ok(),
            files: Mutex::new(HashMap::new()),
            _keeper: keeper,
        }
    }

    fn code_at(&self, address: Addr) -> Option<&Mapping> {
        let after = self.code.partition_point(|mapping| mapping.span.start <= address);
        Some(&self.code[after.checked_sub(1)?]).filter(|mapping| mapping.span.contains(address))
    }

    /// Reads from an address on, page by page, as far as it can be read and the mapping reaches.
    fn read_code(&self, mapping: &Mapping, address: Addr, into: &mut [u8]) -> usize {
        let mut done = 0;
        while done < into.len() {
            let at = address + Bytes::new(done as u64);
            if at >= mapping.span.end {
                // What comes after it is not a file's, or another's.
                return done + memory::read(self.process, at, &mut into[done..]);
            }
            let length = ((PAGE - at.get() % PAGE) as usize).min(into.len() - done);
            let part = &mut into[done..done + length];
            let read = match self.is_touched(at) {
                true => memory::read(self.process, at, part),
                false => self.read_file(mapping, at, part),
            };
            done += read;
            if read < length {
                break;
            }
        }
        done
    }

    /// Where that is unknown, memory is read.
    fn is_touched(&self, address: Addr) -> bool {
        self.pagemap.as_ref().is_none_or(|pagemap| pagemap.is_touched(address).unwrap_or(true))
    }

    fn read_file(&self, mapping: &Mapping, address: Addr, into: &mut [u8]) -> usize {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let file = files.entry(mapping.name.clone()).or_insert_with(|| File::open(&mapping.name).ok());
        let offset = mapping.offset + (address - mapping.span.start).get();
        file.as_ref().and_then(|file| file.read_at(into, offset).ok()).unwrap_or(0)
    }
}

impl ReadMemory for ProcessMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        let address = Addr::new(address);
        match self.code_at(address) {
            Some(mapping) => self.read_code(mapping, address, into),
            None => memory::read(self.process, address, into),
        }
    }
}

#[cfg(test)]
mod tests {
    use heaplens_snapshot::Span;

    use super::*;

    fn mapping(start: u64, end: u64, name: &str) -> Mapping {
        let span = Span::new(Addr::new(start), Addr::new(end));
        Mapping { span, offset: 0x1000, name: name.into(), is_writable: false }
    }

    fn memory_of_this_process(mappings: &[Mapping]) -> ProcessMemory {
        ProcessMemory::new(Pid::new(std::process::id()), mappings, Box::new(()))
    }

    #[test]
    fn code_is_found_by_its_address() {
        let writable = Mapping { is_writable: true, ..mapping(0xa000, 0xb000, "/c") };
        let memory = memory_of_this_process(&[
            mapping(0x1000, 0x2000, "/a"),
            mapping(0x4000, 0x6000, "[heap]"),
            mapping(0x8000, 0x9000, "/b"),
            writable,
        ]);
        let name = |address: u64| memory.code_at(Addr::new(address)).map(|mapping| mapping.name.as_str());
        assert_eq!(
            (name(0x1fff), name(0x2000), name(0x5000), name(0x8000)),
            (Some("/a"), None, None, Some("/b"))
        );
        assert_eq!((name(0), name(0xa000)), (None, None));
    }

    #[test]
    fn a_page_that_nobody_touched_is_read_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("code");
        std::fs::write(&path, vec![7u8; 0x3000]).unwrap();
        // No process has memory there.
        let memory = memory_of_this_process(&[mapping(0x10_0000, 0x10_2000, path.to_str().unwrap())]);
        let mut bytes = [0; 16];
        assert_eq!(memory.read(0x10_0ff8, &mut bytes), 16);
        assert_eq!(bytes, [7; 16]);
    }
}
