//! Whether a program can have the agent inside, checked just before it is started: a sanitizer's runtime insists on
//! being the first library and ends the program otherwise; another C library cannot load us at all.
//!
//! It reads the dynamic section of the file with a few `pread`s. Whatever it does not understand is taken to be an ordinary program.

use core::ffi::CStr;

use crate::sys::Descriptor;

/// How the names of libraries begin that must come first or that are no glibc.
const REFUSERS: [&[u8]; 6] =
    [b"libasan.so", b"libtsan.so", b"libhwasan.so", b"libmsan.so", b"libclang_rt.", b"libc.musl"];
/// The longest dynamic section that is read: entries of 16 bytes.
const MOST_ENTRIES: usize = 128;

/// Parts of a program's file.
pub struct FileParts {
    head: [u8; 2048],
    entries: [u8; MOST_ENTRIES * 16],
}

/// Whether the program in this file must run without the agent.
pub fn refuses_agent(path: &CStr, parts: &mut FileParts) -> bool {
    Descriptor::open(path, libc::O_RDONLY, 0).ok().and_then(|file| refuses(&file, parts)).unwrap_or(false)
}

fn refuses(file: &Descriptor, parts: &mut FileParts) -> Option<bool> {
    let FileParts { head, entries } = parts;
    let head = Head::parse(file.read_at(head, 0))?;
    let (offset, size) = head.dynamic()?;
    let length = entries.len().min(size as usize);
    let entries = file.read_at(&mut entries[..length], offset);
    let tagged =
        |tag: u64| entries.as_chunks::<16>().0.iter().filter(move |entry| word(&entry[..], 0) == Some(tag));
    let strings = tagged(libc_tag::STRTAB).next().and_then(|entry| head.offset_of(word(entry, 8)?))?;
    Some(tagged(libc_tag::NEEDED).any(|entry| {
        let mut name = [0u8; 16];
        let at = strings + word(entry, 8).unwrap_or(0);
        REFUSERS.iter().any(|refuser| file.read_at(&mut name, at).starts_with(refuser))
    }))
}

/// Tags of the dynamic section.
mod libc_tag {
    pub(super) const NEEDED: u64 = 1;
    pub(super) const STRTAB: u64 = 5;
}

/// The program headers of an ELF file.
struct Head<'a> {
    headers: &'a [u8],
}

impl<'a> Head<'a> {
    const SIZE: usize = 56;

    fn parse(bytes: &'a [u8]) -> Option<Self> {
        const ELF_64_LITTLE: &[u8] = b"\x7fELF\x02\x01";
        if !bytes.starts_with(ELF_64_LITTLE) {
            return None;
        }
        let start = usize::try_from(word(bytes, 32)?).ok()?;
        let count = usize::from(u16::from_le_bytes(bytes.get(56..58)?.try_into().ok()?));
        Some(Self { headers: bytes.get(start..start.checked_add(count * Self::SIZE)?)? })
    }

    fn of_kind(&self, kind: u32) -> impl Iterator<Item = &'a [u8]> {
        self.headers.chunks_exact(Self::SIZE).filter(move |header| header.starts_with(&kind.to_le_bytes()))
    }

    /// Offset and size of the dynamic section in the file.
    fn dynamic(&self) -> Option<(u64, u64)> {
        let header = self.of_kind(libc::PT_DYNAMIC).next()?;
        Some((word(header, 8)?, word(header, 32)?))
    }

    /// Where an address lies in the file.
    fn offset_of(&self, address: u64) -> Option<u64> {
        self.of_kind(libc::PT_LOAD).find_map(|header| {
            let within = address.checked_sub(word(header, 16)?)?;
            (within < word(header, 32)?).then_some(word(header, 8)?.checked_add(within)?)
        })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> FileParts {
        FileParts { head: [0; 2048], entries: [0; MOST_ENTRIES * 16] }
    }

    #[test]
    fn an_ordinary_program_and_what_is_none_take_the_agent() {
        assert!(!refuses_agent(c"/proc/self/exe", &mut parts()));
        assert!(!refuses_agent(c"/etc/passwd", &mut parts()));
        assert!(!refuses_agent(c"/nowhere", &mut parts()));
    }

    #[test]
    fn the_needed_libraries_of_this_test_are_found() {
        let file = Descriptor::open(c"/proc/self/exe", libc::O_RDONLY, 0).unwrap();
        let mut buffer = [0u8; 2048];
        let head = Head::parse(file.read_at(&mut buffer, 0)).unwrap();
        assert!(head.dynamic().is_some());
        assert_eq!(refuses(&file, &mut parts()), Some(false));
    }
}
