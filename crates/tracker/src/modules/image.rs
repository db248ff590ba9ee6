//! An ELF image in memory: its program headers, its readable segments, its build id.

use heaplens_format::Addr;

use super::loaded::{FoundObject, bias};

/// A loaded, readable segment and the address of its first byte.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The address of the first of them.
    pub start: Addr,
}

/// An ELF image as the loader mapped it.
pub(super) struct Image {
    bias: u64,
    headers: &'static [libc::Elf64_Phdr],
}

impl Image {
    pub(super) fn of(object: &FoundObject) -> Option<Self> {
        let headers = headers_in_front(object).or_else(|| headers_of_the_program(object))?;
        Some(Self { bias: bias(object), headers })
    }

    /// The bytes of the readable segment that holds an address.
    pub(super) fn segment_with(&self, address: u64) -> Option<Segment<'static>> {
        let inside = |header: &&libc::Elf64_Phdr| {
            header.p_type == libc::PT_LOAD
                && header.p_flags & libc::PF_R != 0
                && address.wrapping_sub(self.bias.wrapping_add(header.p_vaddr)) < header.p_filesz
        };
        let header = self.headers.iter().find(inside)?;
        let start = self.bias.wrapping_add(header.p_vaddr);
        // SAFETY: the loader mapped the segment readable from `start` for its file size; code on a stack keeps it there.
        let bytes = unsafe { core::slice::from_raw_parts(start as *const u8, header.p_filesz as usize) };
        Some(Segment { bytes, start: Addr::new(start) })
    }

    /// The build id, or nothing.
    pub(super) fn build_id(&self) -> &'static [u8] {
        self.headers
            .iter()
            .filter(|header| header.p_type == libc::PT_NOTE)
            .find_map(|h| self.build_id_in(h))
            .unwrap_or(&[])
    }

    fn build_id_in(&self, header: &libc::Elf64_Phdr) -> Option<&'static [u8]> {
        const GNU_BUILD_ID: u32 = 3;
        let address = self.bias.wrapping_add(header.p_vaddr);
        let segment = self.segment_with(address)?;
        let offset = usize::try_from(address - segment.start.get()).ok()?;
        let mut notes = segment.bytes.get(offset..)?.get(..header.p_filesz as usize)?;
        loop {
            let word =
                |at: usize| notes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            let (name, data, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
            let data_start = 12 + name.next_multiple_of(4);
            if kind == GNU_BUILD_ID && notes.get(12..16)? == b"GNU\0" {
                return notes.get(data_start..data_start + data);
            }
            notes = notes.get(data_start + data.next_multiple_of(4)..)?;
        }
    }
}

/// The program headers where the ELF header before them is mapped at the start.
fn headers_in_front(object: &FoundObject) -> Option<&'static [libc::Elf64_Phdr]> {
    // SAFETY: the loader maps the first page of every object readable; it begins with the ELF header.
    let header = unsafe { &*(object.map_start as *const libc::Elf64_Ehdr) };
    if header.e_ident[..4] != *b"\x7fELF" || header.e_phentsize as usize != size_of::<libc::Elf64_Phdr>() {
        return None;
    }
    let (offset, count) = (header.e_phoff, header.e_phnum as usize);
    if offset as usize + count * size_of::<libc::Elf64_Phdr>() > 4096 {
        return None; // beyond what is surely mapped
    }
    // SAFETY: within the first page, as checked; the loader read the same table.
    Some(unsafe {
        core::slice::from_raw_parts((object.map_start + offset) as *const libc::Elf64_Phdr, count)
    })
}

/// The program headers of the executable, as the kernel gave them. One with holes between its segments (`patchelf` leaves
/// some) is reported by the loader segment by segment, and most of these begin with something else than the ELF header.
fn headers_of_the_program(object: &FoundObject) -> Option<&'static [libc::Elf64_Phdr]> {
    // SAFETY: `find_object` checked the pointer; the name is zero-terminated, and empty for the executable alone.
    if unsafe { *(*object.link_map).name } != 0 {
        return None;
    }
    // SAFETY: reads what the kernel gave the process.
    let [address, count] = [libc::AT_PHDR, libc::AT_PHNUM].map(|kind| unsafe { libc::getauxval(kind) });
    // SAFETY: the table that the loader itself read; an executable stays.
    (address != 0)
        .then(|| unsafe { core::slice::from_raw_parts(address as *const libc::Elf64_Phdr, count as usize) })
}
