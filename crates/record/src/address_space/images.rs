//! The extents of loaded object files: after the pages of the file comes zeroed data (`.bss`), which has no name in the
//! kernel's list and may be one area with whatever was mapped after it.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use heaplens_format::{Bytes, Pid};
use heaplens_snapshot::Span;
use object::LittleEndian as LE;
use object::elf::{FileHeader64, PT_LOAD, ProgramHeader64};
use object::read::elf::{FileHeader, ProgramHeader};

use super::areas::Area;
use super::pages::PAGE;

/// What is known of object files, kept from one ledger to the next.
#[derive(Debug, Default)]
pub(crate) struct Images {
    /// How many bytes an image of a file takes; `None` for what is no object file.
    lengths: HashMap<String, Option<Bytes>>,
}

impl Images {
    /// The images in a list of areas, with the index of the area that each begins with.
    pub(crate) fn find(&mut self, process: Pid, areas: &[Area]) -> Vec<(usize, Span)> {
        let mut found = Vec::new();
        for (index, area) in areas.iter().enumerate() {
            if area.has_file && area.is_private && area.offset == 0 && area.name.starts_with('/') {
                let length =
                    self.lengths.entry(area.name.clone()).or_insert_with(|| length_of(process, &area.name));
                found.extend(length.map(|length| (index, Span::of_length(area.span.start, length))));
            }
        }
        found
    }
}

/// As the process itself finds the file.
fn length_of(process: Pid, path: &str) -> Option<Bytes> {
    const HEAD: usize = 4096;
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let file = File::open(format!("/proc/{process}/root{path}")).ok()?;
    let mut head = vec![0; HEAD];
    let read = file.read_at(&mut head, 0).ok()?;
    length_of_elf(&head[..read])
}

/// From the page of its first byte to the end of the page of its last.
fn length_of_elf(head: &[u8]) -> Option<Bytes> {
    let header = FileHeader64::<LE>::parse(head).ok()?;
    let segments: &[ProgramHeader64<LE>] = header.program_headers(LE, head).ok()?;
    let loaded = || segments.iter().filter(|segment| segment.p_type(LE) == PT_LOAD);
    let first = loaded().map(|segment| segment.p_vaddr(LE)).min()? & !(PAGE - 1);
    let ends = loaded().filter_map(|segment| segment.p_vaddr(LE).checked_add(segment.p_memsz(LE)));
    Some(Bytes::new(ends.max()?.checked_next_multiple_of(PAGE)?.saturating_sub(first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_extends_beyond_its_file() {
        let own = std::env::current_exe().unwrap();
        let pid = Pid::new(std::process::id());
        let areas = super::super::areas::read(pid).unwrap();
        let images = Images::default().find(pid, &areas);
        let (index, image) =
            *images.iter().find(|(index, _)| areas[*index].name == own.to_str().unwrap()).unwrap();
        let of_file =
            areas.iter().filter(|area| area.name == areas[index].name).map(|area| area.span.end).max();
        assert!(image.length() > Bytes::ZERO && Some(image.end) >= of_file);
    }

    #[test]
    fn a_cut_or_foreign_file_has_no_image() {
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(length_of_elf(&whole[..4096]).is_some());
        for length in 0..200 {
            assert_eq!(length_of_elf(&whole[..length]), None);
        }
        assert_eq!(length_of_elf(b"#!/bin/sh\n"), None);
    }
}
