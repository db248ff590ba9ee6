//! Which pages are resident, from `/proc/PID/pagemap`: its present bit needs no privilege.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use heaplens_format::{Addr, Bytes, Pid};
use heaplens_snapshot::Span;

/// The page size of x86-64.
pub(crate) const PAGE: u64 = 4096;

/// proc_pid_pagemap(5).
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
/// Entries that are read at a time.
const AT_ONCE: usize = 1 << 15;

/// Which pages are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Those in memory.
    Resident,
    /// Those and what was swapped out; a page that the kernel is migrating counts as such.
    Touched,
}

impl Wanted {
    fn has(self, entry: u64) -> bool {
        let bits = match self {
            Self::Resident => PRESENT,
            Self::Touched => PRESENT | SWAPPED,
        };
        entry & bits != 0
    }
}

/// The file of one process.
#[derive(Debug)]
pub(crate) struct Pagemap {
    file: File,
    buffer: Vec<u8>,
}

impl Pagemap {
    pub(crate) fn open(process: Pid) -> io::Result<Self> {
        Ok(Self { file: File::open(format!("/proc/{process}/pagemap"))?, buffer: vec![0; AT_ONCE * 8] })
    }

    /// Visits each page of a span, in order, with whether it is of these.
    pub(crate) fn each(
        &mut self,
        span: Span,
        wanted: Wanted,
        mut visit: impl FnMut(usize, bool),
    ) -> io::Result<()> {
        self.entries(span, |page, entry| visit(page, wanted.has(entry)))
    }

    /// The parts of a span that the process has touched, in memory or swapped out. Reading others would make them resident.
    pub(crate) fn touched(&mut self, span: Span) -> io::Result<Vec<Span>> {
        let mut parts: Vec<Span> = Vec::new();
        self.entries(span, |page, entry| {
            if !Wanted::Touched.has(entry) {
                return;
            }
            let page = page_at(span.start, page);
            match parts.last_mut() {
                Some(last) if last.end == page.start => last.end = page.end,
                _ => parts.push(page),
            }
        })?;
        Ok(parts)
    }

    /// The same for the page that an address lies in.
    pub(crate) fn is_touched(&self, address: Addr) -> io::Result<bool> {
        let mut entry = [0; 8];
        self.file.read_exact_at(&mut entry, address.get() / PAGE * 8)?;
        Ok(Wanted::Touched.has(u64::from_le_bytes(entry)))
    }

    fn entries(&mut self, span: Span, mut visit: impl FnMut(usize, u64)) -> io::Result<()> {
        let mut index = 0;
        let pages = (span.length().get() / PAGE) as usize;
        while index < pages {
            let count = (pages - index).min(AT_ONCE);
            let bytes = &mut self.buffer[..count * 8];
            self.file.read_exact_at(bytes, (span.start.get() / PAGE + index as u64) * 8)?;
            for (at, entry) in bytes.as_chunks::<8>().0.iter().enumerate() {
                visit(index + at, u64::from_le_bytes(*entry));
            }
            index += count;
        }
        Ok(())
    }
}

/// The page with this number, counted from an address.
pub(crate) fn page_at(start: Addr, number: usize) -> Span {
    let page = start + Bytes::new(number as u64 * PAGE);
    Span::new(page, page + Bytes::new(PAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_was_written_is_resident() {
        let own = [1u8; 1];
        let page = page_at(Addr::new((own.as_ptr() as u64) & !(PAGE - 1)), 0);
        let mut found = Vec::new();
        let mut pagemap = Pagemap::open(Pid::new(std::process::id())).unwrap();
        pagemap.each(page, Wanted::Resident, |index, resident| found.push((index, resident))).unwrap();
        assert_eq!(found, [(0, true)]);
        assert_eq!(pagemap.touched(page).unwrap(), [page]);
        assert!(pagemap.is_touched(page.start + Bytes::new(7)).unwrap());
    }

    #[test]
    fn a_page_that_was_swapped_out_is_touched_and_not_resident() {
        let are = |entry| [Wanted::Resident, Wanted::Touched].map(|wanted| wanted.has(entry));
        assert_eq!(are(PRESENT | 0x1234), [true, true]);
        assert_eq!(are(SWAPPED | 0x1234), [false, true]);
        assert_eq!(are(1 << 55), [false, false]);
    }
}
