//! Whether the program is one of Go's. Its runtime sets handlers by system calls of its own, sees those that were there before, and hands
//! signals on to them: it would hand them on to one that it is not supposed to see.

use libc::{Elf64_Phdr, PT_NOTE, PT_PHDR};

/// What a note begins with: the lengths of its name and of its content, and its type.
const HEAD: usize = 12;

/// Who writes the note with a build id of Go's.
const GO: &[u8] = b"Go\0\0";

/// Whether the executable carries a note of Go's linker.
pub fn is_program() -> bool {
    let Some(headers) = program_headers() else { return false };
    let place = headers.as_ptr() as u64;
    let base = headers
        .iter()
        .find(|header| header.p_type == PT_PHDR)
        .map_or(0, |header| place.wrapping_sub(header.p_vaddr));
    headers.iter().filter(|header| header.p_type == PT_NOTE).any(|header| {
        let start = base.wrapping_add(header.p_vaddr) as *const u8;
        // SAFETY: the kernel has mapped the executable as its program headers say, for good.
        has_note_of_go(unsafe { core::slice::from_raw_parts(start, header.p_memsz as usize) })
    })
}

/// Those of the executable, where the kernel says.
fn program_headers() -> Option<&'static [Elf64_Phdr]> {
    // SAFETY: reads what the kernel gave the process.
    let (start, count) =
        unsafe { (libc::getauxval(libc::AT_PHDR) as *const Elf64_Phdr, libc::getauxval(libc::AT_PHNUM)) };
    // SAFETY: there the kernel has mapped so many of them.
    (!start.is_null()).then(|| unsafe { core::slice::from_raw_parts(start, count as usize) })
}

fn has_note_of_go(mut notes: &[u8]) -> bool {
    while let Some((head, rest)) = notes.split_at_checked(HEAD) {
        let [name, content] = [&head[..4], &head[4..8]].map(|word| {
            let length = word.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
            length.next_multiple_of(4)
        });
        if rest.starts_with(GO) && name == GO.len() {
            return true;
        }
        let Some(next) = rest.get(name.saturating_add(content)..) else { return false };
        notes = next;
    }
    false
}
