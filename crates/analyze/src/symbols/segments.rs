//! Where the code of an object file lay in a process: what tools of others need to find symbols by themselves.

use std::path::Path;

use heaplens_format::recording::Module;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, elf};

use super::headers::{build_id_of, open_cache};

/// The code of an object file as the loader mapped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeSegment {
    /// Its first address in the process.
    pub start: u64,
    /// The first address after it.
    pub end: u64,
    /// Where it begins in the file.
    pub offset: u64,
}

const PAGE: u64 = 4096;

/// The code of a module, by the file on this machine; none where that is gone or another one.
pub fn code_segments(module: &Module) -> Vec<CodeSegment> {
    let path = Path::new(&module.path);
    match build_id_of(path) {
        Some(id) if module.build_id.is_empty() || id == module.build_id => {
            read(path, module.bias.get()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn read(path: &Path, bias: u64) -> Option<Vec<CodeSegment>> {
    let cache = open_cache(path)?;
    let file = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    let endian = file.endian();
    let is_code = |header: &&elf::ProgramHeader64<Endianness>| {
        header.p_type(endian) == elf::PT_LOAD && header.p_flags(endian).contains(elf::PF_X)
    };
    let segment = |header: &elf::ProgramHeader64<Endianness>| {
        let (address, offset) = (header.p_vaddr(endian), header.p_offset(endian));
        let below = address % PAGE;
        let start = bias.wrapping_add(address - below);
        let end = bias.wrapping_add(address).saturating_add(header.p_memsz(endian));
        CodeSegment { start, end: end.next_multiple_of(PAGE), offset: offset.saturating_sub(below) }
    };
    Some(file.elf_program_headers().iter().filter(is_code).map(segment).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::Addr;

    #[test]
    fn the_code_of_this_program_is_where_its_headers_say() {
        let path = std::env::current_exe().unwrap().display().to_string();
        let module = Module { path, bias: Addr::new(0x5000_0000_0000), ..Module::default() };
        let segments = code_segments(&module);
        assert!(!segments.is_empty());
        for segment in segments {
            assert!(segment.start >= 0x5000_0000_0000 && segment.start < segment.end, "{segment:?}");
            assert_eq!((segment.start % PAGE, segment.end % PAGE), (0, 0));
        }
    }

    #[test]
    fn another_file_at_the_same_path_says_nothing() {
        let path = std::env::current_exe().unwrap().display().to_string();
        let module = Module { path, build_id: vec![1, 2, 3], ..Module::default() };
        assert_eq!(code_segments(&module), []);
        let gone = Module { path: "/nowhere/at/all".into(), ..Module::default() };
        assert_eq!(code_segments(&gone), []);
    }
}
