//! NamedAddresses and lines of frames, from the object files that the program ran. A name is given only where the file is the
//! one that ran (its build id says so) and a function covers the address; what is not known stays unknown.
//!
//! All addresses of one object file, over all processes, are looked up together, then the file is closed again: a
//! process tree of fifty shells opens libc once, and one large library at a time is in memory.

mod cache;
mod code_of_line;
mod covering;
mod debug_file;
mod debug_types;
mod demangle;
mod headers;
mod image;
mod lines;
mod loop_lines;
mod object_file;
mod segments;
mod strings;
mod unwind_table;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use heaplens_format::ModuleId;
use heaplens_format::recording::{Frame, FrameSymbol, Function, Module, Process, Recording};

pub use cache::SymbolCache;
pub use code_of_line::code_of_line;
pub(crate) use debug_types::{
    DebugTypes, ElementCount, MemberContainer, PointerTarget, RunningFrame, WordType,
};
pub(crate) use demangle::{demangle, demangle_class};
pub(crate) use headers::build_id_of;
pub(crate) use image::Image;
pub use loop_lines::settle_loop_lines;
pub(crate) use object_file::Variables;
pub use segments::{CodeSegment, code_segments};
pub(crate) use unwind_table::{FRAME_POINTER, FrameRegisters, STACK_POINTER, UnwindTable};

use object_file::{ObjectFile, SymbolFiles};
use strings::Strings;

/// An object file as recorded: path and build id.
type FileKey = (String, Vec<u8>);
/// The functions at each return address of an object file that has any.
type NamedAddresses = HashMap<u64, Vec<Function>>;

/// Whether the file of a module is still the one that ran.
pub(crate) fn has_build_id(module: &Module) -> bool {
    build_id_of(Path::new(&module.path)).is_some_and(|build_id| build_id == module.build_id)
}

/// Fills [`Process::symbols`] of every process from the files on this machine, or from what earlier runs found there.
pub fn resolve_symbols(recording: &mut Recording, cache: &SymbolCache) {
    let mut strings = Strings::default();
    let (mut names, mut is_any_new) = (HashMap::new(), false);
    for (key, addresses) in wanted(recording) {
        let (found, is_new) = look_up(&key, &addresses, cache, &mut strings);
        names.insert(key, found);
        is_any_new |= is_new;
    }
    if is_any_new {
        cache.prune();
    }
    recording.processes.iter_mut().for_each(|process| hand_out(process, &names));
}

/// What the linker knows of a return address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkerSymbol {
    /// How many functions are there, those that were compiled into others included.
    pub(crate) functions: usize,
    /// What the outermost of them is called, as Valgrind would call it first, then its other names.
    pub(crate) names: Vec<String>,
}

/// The symbols at return addresses of the object file at a path; nothing where it cannot be read.
pub(crate) fn linker_symbols(path: &str, addresses: &BTreeSet<u64>) -> HashMap<u64, LinkerSymbol> {
    let Some(sources) = SymbolFiles::find(Path::new(path), &[]) else { return HashMap::new() };
    let mut file = ObjectFile::open(&sources);
    let mut strings = Strings::default();
    let symbol = |&address: &u64| {
        let functions = file.functions(call_before(address), &mut strings).len();
        (address, LinkerSymbol { functions, names: file.symbols(call_before(address)) })
    };
    addresses.iter().map(symbol).collect()
}

/// The address of the call before a return address: the return address itself may belong to the next line, or to the
/// next function where the call never returns. Nothing else knows this rule.
fn call_before(return_address: u64) -> u64 {
    return_address.saturating_sub(1)
}

/// Every distinct return address, by object file.
fn wanted(recording: &Recording) -> BTreeMap<FileKey, BTreeSet<u64>> {
    let mut wanted = BTreeMap::<FileKey, BTreeSet<u64>>::new();
    for process in &recording.processes {
        for (module, offset) in code_frames(process) {
            if let Some(module) = module_of(process, module) {
                wanted.entry(key_of(module)).or_default().insert(offset);
            }
        }
    }
    wanted
}

/// The distinct code frames of a process, sorted.
fn code_frames(process: &Process) -> BTreeSet<(ModuleId, u64)> {
    let code = process.nodes.iter().filter_map(|node| match node.frame {
        Frame::Code { module, offset } => Some((module, offset)),
        Frame::Unknown { .. } | Frame::Python { .. } | Frame::Pseudo(_) => None,
    });
    code.collect()
}

fn module_of(process: &Process, id: ModuleId) -> Option<&Module> {
    process.modules.get(usize::from(id.get()).checked_sub(1)?)
}

fn key_of(module: &Module) -> FileKey {
    (module.path.clone(), module.build_id.clone())
}

/// The names at addresses of a file, and whether some had to be looked up in it.
fn look_up(
    (path, build_id): &FileKey,
    addresses: &BTreeSet<u64>,
    cache: &SymbolCache,
    strings: &mut Strings,
) -> (NamedAddresses, bool) {
    let Some(sources) = SymbolFiles::find(Path::new(path), build_id) else { return Default::default() };
    let entry = cache.entry(&sources);
    let mut known = entry.read();
    let unknown: Vec<u64> =
        addresses.iter().copied().filter(|address| !known.contains_key(address)).collect();
    if !unknown.is_empty() {
        let mut file = ObjectFile::open(&sources);
        let found = unknown.iter().map(|&address| (address, file.functions(call_before(address), strings)));
        known.extend(found);
        entry.write(&known);
    }
    known.retain(|address, functions| addresses.contains(address) && !functions.is_empty());
    (known, !unknown.is_empty())
}

fn hand_out(process: &mut Process, names: &HashMap<FileKey, NamedAddresses>) {
    let mut symbols = Vec::new();
    for (id, offset) in code_frames(process) {
        let names = module_of(process, id).and_then(|module| names.get(&key_of(module)));
        if let Some(functions) = names.and_then(|names| names.get(&offset)) {
            symbols.push(FrameSymbol { module: id, offset, functions: functions.clone() });
        }
    }
    process.symbols = symbols;
}
