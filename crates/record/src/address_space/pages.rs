//! Which pages are resident, from `/proc/PID/pagemap`: its present bit needs no privilege.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use heaplens_format::Pid;

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
    /// Those and what was swapped out; a page that the kernel moves at this moment looks as if it were.
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

    /// Tells each page of a range, in order, whether it is of these.
    pub(crate) fn each(
        &mut self,
        start: u64,
        end: u64,
        wanted: Wanted,
        mut tell: impl FnMut(usize, bool),
    ) -> io::Result<()> {
        self.entries(start, end, |page, entry| tell(page, wanted.has(entry)))
    }

    /// The parts of a range that the process has touched, in memory or swapped out. To read others would bring them in.
    pub(crate) fn touched(&mut self, start: u64, end: u64) -> io::Result<Vec<(u64, u64)>> {
        let mut parts: Vec<(u64, u64)> = Vec::new();
        self.entries(start, end, |page, entry| {
            if !Wanted::Touched.has(entry) {
                return;
            }
            let page = start + page as u64 * PAGE;
            match parts.last_mut() {
                Some(last) if last.1 == page => last.1 += PAGE,
                _ => parts.push((page, page + PAGE)),
            }
        })?;
        Ok(parts)
    }

    /// The same for the page that an address lies in.
    pub(crate) fn is_touched(&self, address: u64) -> io::Result<bool> {
        let mut entry = [0; 8];
        self.file.read_exact_at(&mut entry, address / PAGE * 8)?;
        Ok(Wanted::Touched.has(u64::from_le_bytes(entry)))
    }

    fn entries(&mut self, start: u64, end: u64, mut tell: impl FnMut(usize, u64)) -> io::Result<()> {
        let mut index = 0;
        let pages = (end.saturating_sub(start) / PAGE) as usize;
        while index < pages {
            let count = (pages - index).min(AT_ONCE);
            let bytes = &mut self.buffer[..count * 8];
            self.file.read_exact_at(bytes, (start / PAGE + index as u64) * 8)?;
            for (at, entry) in bytes.as_chunks::<8>().0.iter().enumerate() {
                tell(index + at, u64::from_le_bytes(*entry));
            }
            index += count;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_was_written_is_resident() {
        let own = [1u8; 1];
        let page = (own.as_ptr() as u64) & !(PAGE - 1);
        let mut found = Vec::new();
        let mut pagemap = Pagemap::open(Pid::new(std::process::id())).unwrap();
        let tell = |index, resident| found.push((index, resident));
        pagemap.each(page, page + PAGE, Wanted::Resident, tell).unwrap();
        assert_eq!(found, [(0, true)]);
        assert_eq!(pagemap.touched(page, page + PAGE).unwrap(), [(page, page + PAGE)]);
        assert!(pagemap.is_touched(page + 7).unwrap());
    }

    #[test]
    fn a_page_that_was_swapped_out_is_touched_and_not_resident() {
        let are = |entry| [Wanted::Resident, Wanted::Touched].map(|wanted| wanted.has(entry));
        assert_eq!(are(PRESENT | 0x1234), [true, true]);
        assert_eq!(are(SWAPPED | 0x1234), [false, true]);
        assert_eq!(are(1 << 55), [false, false]);
    }
}
