//! Where a process has a variable of a file that it has mapped, by the name of its symbol.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use object::read::ReadCache;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol, elf};

use super::globals::MappedFile;

const PAGE: u64 = 4096;

/// The state of Python's interpreter, in the executable or in the library that it comes in.
pub(super) fn of_python(files: &[MappedFile]) -> Option<u64> {
    let is_named_so = |file: &&MappedFile| {
        file.path.file_name().is_some_and(|name| name.to_string_lossy().contains("python"))
    };
    // A program that has Python linked into it has any name.
    let all = files.iter().filter(is_named_so).chain(files.first());
    let mut tried: Vec<&Path> = Vec::new();
    for file in all {
        if !tried.contains(&file.path.as_path()) {
            tried.push(&file.path);
            if let Some(address) = address_of(file, "_PyRuntime") {
                return Some(address);
            }
        }
    }
    None
}

/// The address of a symbol in the process; `file` is the first part of its file that is mapped.
fn address_of(file: &MappedFile, name: &str) -> Option<u64> {
    let cache = ReadCache::new(BufReader::new(File::open(&file.path).ok()?));
    let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    let mut symbols = elf.dynamic_symbols().chain(elf.symbols());
    let symbol = symbols.find(|symbol| symbol.is_definition() && symbol.name() == Ok(name))?;
    let endian = elf.endian();
    let is_mapped_here = |segment: &&elf::ProgramHeader64<Endianness>| {
        segment.p_type(endian) == elf::PT_LOAD && segment.p_offset(endian) / PAGE * PAGE == file.offset
    };
    let segment = elf.elf_program_headers().iter().find(is_mapped_here)?;
    let bias = file.start.wrapping_sub(segment.p_vaddr(endian) / PAGE * PAGE);
    Some(bias.wrapping_add(symbol.address()))
}
