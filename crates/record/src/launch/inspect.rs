//! Inspects a program file before it is started: can the agent be loaded into it? It reads the file and starts nothing.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::elf::{DT_NEEDED, DT_STRSZ, DT_STRTAB, EM_X86_64, FileHeader64, PT_INTERP};
use object::read::StringTable;
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSymbol};
use rustix::fs::StatVfsMountFlags;

/// The kernel follows no more interpreters than this (fs/exec.c, `exec_binprm`).
const INTERPRETERS: usize = 5;

/// What the kernel reads of a file to find its `#!` line (`BINPRM_BUF_SIZE`).
const FIRST_BYTES: usize = 256;

/// Why a program ran without the agent, so that nothing was recorded. It displays as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BareReason {
    /// No dynamic linker takes part.
    #[error("{} is statically linked: no library can be loaded into it", program.display())]
    Static {
        /// The file.
        program: PathBuf,
    },
    /// It is setuid, setgid or has file capabilities: the dynamic linker ignores `LD_PRELOAD`.
    #[error("{} runs with other privileges than its user ({what}): the dynamic linker ignores LD_PRELOAD for it", program.display())]
    OtherRights {
        /// The file.
        program: PathBuf,
        /// setuid, setgid or file capabilities.
        what: &'static str,
    },
    /// A sanitizer replaces the allocator itself and aborts when a library comes before it.
    #[error("{} is built with {sanitizer}, which cannot run together with another memory tool", program.display())]
    Sanitizer {
        /// The file.
        program: PathBuf,
        /// Which one.
        sanitizer: &'static str,
    },
    /// The agent is built for another processor than the program.
    #[error("{} is not a 64-bit x86 program: the agent cannot be loaded into it", program.display())]
    OtherArchitecture {
        /// The file.
        program: PathBuf,
    },
    /// The agent is linked with glibc.
    #[error("{} uses another C library than glibc ({}): the agent cannot be loaded into it", program.display(), linker.display())]
    OtherLibc {
        /// The file.
        program: PathBuf,
        /// Its dynamic linker.
        linker: PathBuf,
    },
    /// It was started with the agent, but no arena appeared.
    #[error(
        "no process of the command loaded the agent (was LD_PRELOAD removed from its environment, or did it exit before it loaded its libraries?)"
    )]
    NoArena,
    /// The caller gave no agent.
    #[error("there is no agent to load")]
    NoAgent,
}

/// Why the agent cannot be loaded into `program`; `None` when it can, or when the file cannot be read.
pub(crate) fn inspect(program: &Path) -> Option<BareReason> {
    let program = final_interpreter(program);
    let about = std::fs::metadata(&program).ok()?;
    if let Some(what) = other_rights(&program, &about) {
        return Some(BareReason::OtherRights { program, what });
    }
    let file = File::open(&program).ok()?;
    // SAFETY: the mapping is private and only read; a program file is not cut short while it is about to run.
    let bytes = unsafe { memmap2::Mmap::map(&file) }.ok()?;
    inspect_bytes(program, &bytes)
}

/// The file that the kernel will run in the end: the interpreter of the interpreter of a script.
fn final_interpreter(program: &Path) -> PathBuf {
    let mut program = program.to_owned();
    for _ in 0..INTERPRETERS {
        match interpreter(&program) {
            Some(interpreter) => program = interpreter,
            None => break,
        }
    }
    program
}

fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut first = Vec::with_capacity(FIRST_BYTES);
    File::open(script).ok()?.take(FIRST_BYTES as u64).read_to_end(&mut first).ok()?;
    let line = first.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let word = line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(word)))
}

/// What makes the kernel set `AT_SECURE`: ids that change, or capabilities for somebody who is not root.
fn other_rights(program: &Path, about: &std::fs::Metadata) -> Option<&'static str> {
    let honoured = !rustix::fs::statvfs(program).ok()?.f_flag.contains(StatVfsMountFlags::NOSUID);
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    // Without the group's execute bit setgid once meant mandatory locking, and the kernel ignores it (fs/exec.c).
    let setgid = about.mode() & 0o2010 == 0o2010;
    match () {
        () if !honoured => None,
        () if about.mode() & 0o4000 != 0 && about.uid() != uid => Some("setuid"),
        () if setgid && about.gid() != gid => Some("setgid"),
        () if uid != 0 && has_capabilities(program) => Some("file capabilities"),
        () => None,
    }
}

fn has_capabilities(program: &Path) -> bool {
    let mut none = [0u8; 0];
    rustix::fs::getxattr(program, "security.capability", &mut none).is_ok_and(|length| length > 0)
}

/// A file that is no ELF file is left to the kernel: it may be a script without `#!`, or known to binfmt_misc.
fn inspect_bytes(program: PathBuf, bytes: &[u8]) -> Option<BareReason> {
    if !bytes.starts_with(b"\x7fELF") {
        return None;
    }
    let Some(elf) = native(bytes) else {
        return Some(BareReason::OtherArchitecture { program });
    };
    let Some(linker) = linker(&elf, bytes) else {
        return Some(BareReason::Static { program });
    };
    if other_libc(&linker) {
        return Some(BareReason::OtherLibc { program, linker });
    }
    sanitizer(&elf, bytes).map(|sanitizer| BareReason::Sanitizer { program, sanitizer })
}

type Elf<'a> = ElfFile64<'a, LittleEndian>;

fn native(bytes: &[u8]) -> Option<Elf<'_>> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let fits = header.e_machine(LittleEndian) == EM_X86_64 && header.endian().is_ok();
    fits.then(|| Elf::parse(bytes).ok()).flatten()
}

fn linker(elf: &Elf<'_>, bytes: &[u8]) -> Option<PathBuf> {
    let mut segments = elf.elf_program_headers().iter();
    let segment = segments.find(|segment| segment.p_type(LittleEndian) == PT_INTERP)?;
    let path = segment.data(LittleEndian, bytes).ok()?;
    let path = path.split(|&byte| byte == 0).next()?;
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

/// musl (`ld-musl-x86_64.so.1`) refuses to start a program with a library that needs glibc; bionic has `linker64`.
fn other_libc(linker: &Path) -> bool {
    let name = linker.file_name().unwrap_or_default().as_bytes();
    name.starts_with(b"ld-musl") || name.starts_with(b"linker")
}

/// (name for the user, part of a library's name, symbol that every program built with it has)
const SANITIZERS: [(&str, &[u8], &[u8]); 4] = [
    ("AddressSanitizer", b"asan", b"__asan_init"),
    ("HWAddressSanitizer", b"hwasan", b"__hwasan_init"),
    ("ThreadSanitizer", b"tsan", b"__tsan_init"),
    ("MemorySanitizer", b"msan", b"__msan_init"),
];

fn sanitizer(elf: &Elf<'_>, bytes: &[u8]) -> Option<&'static str> {
    needed_sanitizer(elf, bytes).or_else(|| {
        let symbols = elf.dynamic_symbols().chain(elf.symbols());
        symbols.filter_map(|symbol| symbol.name_bytes().ok()).find_map(sanitizer_of_symbol)
    })
}

fn sanitizer_of_symbol(symbol: &[u8]) -> Option<&'static str> {
    SANITIZERS.iter().find(|(_, _, init)| symbol == *init).map(|(name, _, _)| *name)
}

/// gcc links `libasan.so.8`, clang (when asked for the shared runtime) `libclang_rt.asan-x86_64.so`.
fn sanitizer_of_library(library: &[u8]) -> Option<&'static str> {
    let kind = library.strip_prefix(b"libclang_rt.").or_else(|| library.strip_prefix(b"lib"))?;
    SANITIZERS.iter().find(|(_, library, _)| kind.starts_with(library)).map(|(name, _, _)| *name)
}

fn needed_sanitizer(elf: &Elf<'_>, bytes: &[u8]) -> Option<&'static str> {
    let segments = elf.elf_program_headers();
    let entries = segments.iter().find_map(|segment| segment.dynamic(LittleEndian, bytes).ok().flatten())?;
    let value =
        |tag| entries.iter().find(|entry| entry.d_tag(LittleEndian) == tag).map(|e| e.d_val(LittleEndian));
    let (address, length) = (value(DT_STRTAB)?, value(DT_STRSZ)?);
    let in_file = |address, length| {
        segments
            .iter()
            .find_map(|segment| segment.data_range(LittleEndian, bytes, address, length).ok().flatten())
    };
    let strings = StringTable::new(in_file(address, length)?, 0, length);
    let needed = entries.iter().filter(|entry| entry.d_tag(LittleEndian) == DT_NEEDED);
    needed
        .filter_map(|entry| strings.get(u32::try_from(entry.d_val(LittleEndian)).ok()?).ok())
        .find_map(sanitizer_of_library)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Compiles an empty program; `None` where this machine's gcc lacks what the flags need.
    fn compiled(folder: &Path, flags: &[&str]) -> Option<PathBuf> {
        let (source, program) = (folder.join("empty.c"), folder.join("program"));
        std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
        let made = Command::new("gcc").args(flags).arg("-o").arg(&program).arg(&source).output().unwrap();
        made.status.success().then_some(program)
    }

    fn skipped(what: &str) {
        eprintln!("skipped: gcc on this machine cannot build {what}");
    }

    #[test]
    fn an_ordinary_program_takes_the_agent() {
        let folder = tempfile::tempdir().unwrap();
        let program = compiled(folder.path(), &[]).expect("gcc builds an empty program");
        assert_eq!(inspect(&program), None);
    }

    #[test]
    fn a_static_program_runs_bare() {
        let folder = tempfile::tempdir().unwrap();
        let program = compiled(folder.path(), &["-static"]).expect("glibc's static library is in libc6-dev");
        assert_eq!(inspect(&program), Some(BareReason::Static { program }));
    }

    #[test]
    fn an_asan_program_runs_bare() {
        let folder = tempfile::tempdir().unwrap();
        let program = compiled(folder.path(), &["-fsanitize=address"]).expect("gcc comes with libasan");
        let sanitizer = "AddressSanitizer";
        assert_eq!(inspect(&program), Some(BareReason::Sanitizer { program, sanitizer }));
    }

    #[test]
    fn an_asan_program_with_the_runtime_inside_runs_bare() {
        let folder = tempfile::tempdir().unwrap();
        let flags = ["-fsanitize=address", "-static-libasan"];
        let Some(program) = compiled(folder.path(), &flags) else { return skipped("with -static-libasan") };
        let sanitizer = "AddressSanitizer";
        assert_eq!(inspect(&program), Some(BareReason::Sanitizer { program, sanitizer }));
    }

    #[test]
    fn a_program_of_another_word_size_runs_bare() {
        let folder = tempfile::tempdir().unwrap();
        let program = match compiled(folder.path(), &["-m32"]) {
            Some(program) => program,
            None => as_32_bit(&compiled(folder.path(), &[]).unwrap()),
        };
        assert_eq!(inspect(&program), Some(BareReason::OtherArchitecture { program }));
    }

    /// Turns the class byte of the ELF header to 32-bit.
    fn as_32_bit(program: &Path) -> PathBuf {
        let mut bytes = std::fs::read(program).unwrap();
        bytes[4] = 1;
        std::fs::write(program, bytes).unwrap();
        program.to_owned()
    }

    #[test]
    fn a_program_for_another_processor_runs_bare() {
        let folder = tempfile::tempdir().unwrap();
        let program = compiled(folder.path(), &[]).unwrap();
        let mut bytes = std::fs::read(&program).unwrap();
        const EM_AARCH64: u8 = 183;
        bytes[18] = EM_AARCH64;
        std::fs::write(&program, bytes).unwrap();
        assert_eq!(inspect(&program), Some(BareReason::OtherArchitecture { program }));
    }

    #[test]
    fn a_script_is_judged_by_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let program = compiled(folder.path(), &["-static"]).unwrap();
        let (script, outer) = (folder.path().join("script"), folder.path().join("outer"));
        std::fs::write(&script, format!("#! {} -x\n", program.display())).unwrap();
        std::fs::write(&outer, format!("#!{}\n", script.display())).unwrap();
        assert_eq!(inspect(&outer), Some(BareReason::Static { program }));
    }

    #[test]
    fn a_script_that_interprets_itself_is_left_to_the_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, format!("#!{}\n", script.display())).unwrap();
        assert_eq!(inspect(&script), None);
    }

    #[test]
    fn a_setuid_program_of_another_user_runs_bare() {
        let about = std::fs::metadata("/usr/bin/passwd").unwrap();
        let expected = match rustix::process::getuid().as_raw() {
            0 => None,
            _ => Some("setuid"),
        };
        assert_eq!(other_rights(Path::new("/usr/bin/passwd"), &about), expected);
    }

    #[test]
    fn a_musl_program_runs_bare() {
        assert!(other_libc(Path::new("/lib/ld-musl-x86_64.so.1")));
        assert!(!other_libc(Path::new("/lib64/ld-linux-x86-64.so.2")));
    }

    #[test]
    fn both_compilers_name_their_runtimes() {
        assert_eq!(sanitizer_of_library(b"libasan.so.8"), Some("AddressSanitizer"));
        assert_eq!(sanitizer_of_library(b"libclang_rt.asan-x86_64.so"), Some("AddressSanitizer"));
        assert_eq!(sanitizer_of_library(b"libhwasan.so.0"), Some("HWAddressSanitizer"));
        assert_eq!(sanitizer_of_library(b"libc.so.6"), None);
    }

    #[test]
    fn cut_programs_are_judged_without_a_panic() {
        let folder = tempfile::tempdir().unwrap();
        let whole = std::fs::read(compiled(folder.path(), &["-fsanitize=address"]).unwrap()).unwrap();
        for length in (0..whole.len()).step_by(97) {
            inspect_bytes(PathBuf::from("cut"), &whole[..length]);
        }
    }
}
