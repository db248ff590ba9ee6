//! Names of variables of C and C++ by the address of a word in them, from the symbols of the mapped files. Files are read when an
//! address leads to them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{Mapping, Span};

use crate::symbols::{
    DebugTypes, ElementCount, FrameRegisters, Image, MemberContainer, PointerTarget, RunningFrame,
    UnwindTable, Variables, WordType,
};

/// A location in a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// The variable, readable.
    pub name: String,
    /// Where it begins.
    pub start: Addr,
    /// How far into it the location is.
    pub offset: Bytes,
}

impl fmt::Display for Global {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset.get() {
            0 => write!(to, "{}", self.name),
            offset => write!(to, "{}+{offset}", self.name),
        }
    }
}

/// The variables of one process.
pub struct Globals {
    /// Sorted by where they begin.
    modules: Vec<Module>,
    /// The file of the program itself.
    program: Option<PathBuf>,
}

struct Module {
    path: PathBuf,
    /// What is added to an address of the file.
    bias: Bytes,
    span: Span,
    variables: Option<Option<Variables>>,
    types: Option<Option<DebugTypes>>,
    unwind: Option<Option<UnwindTable>>,
    /// How many bytes of each thread's memory are its variables'.
    thread_local: Option<u64>,
}

/// What a word of native code is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NativeWord {
    /// The member that it lies in; empty where it has none.
    pub(crate) member: String,
    /// The class of what it points to, or the container that it is a part of; empty where it is not known.
    pub(crate) class: String,
    /// What lies where it points to.
    pub(crate) target: Option<NativeTarget>,
    /// The container that it is a part of, where that is a member of an object.
    pub(crate) container: Option<NativeContainer>,
}

/// A container that is a member of an object, by the debug information of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NativeContainer {
    module: usize,
    container: MemberContainer,
}

impl NativeContainer {
    /// Where the object begins, by the address of the word that led to the container.
    pub(crate) fn owner(self, word: Addr) -> Addr {
        Addr::new(word.get().wrapping_sub(self.container.in_owner))
    }

    /// And the container.
    pub(crate) fn start(self, word: Addr) -> Addr {
        Addr::new(word.get().wrapping_sub(self.container.in_container))
    }

    /// Where it says how many elements it has.
    pub(crate) fn count(self) -> ElementCount {
        self.container.count
    }
}

/// A word of a variable that belongs to one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnVariable {
    /// The function whose local variable it is; `None` where it is thread-local.
    pub(crate) function: Option<String>,
    /// The variable.
    pub(crate) name: String,
    /// The word.
    pub(crate) word: NativeWord,
}

/// What is in a block, by the debug information of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NativeTarget {
    module: usize,
    target: PointerTarget,
}

impl NativeTarget {
    /// Whether it begins where the pointer leads, and not where the block does.
    pub(crate) fn is_object(self) -> bool {
        matches!(self.target, PointerTarget::Object(_))
    }
}

impl Globals {
    /// From mappings; all that are known, in any order.
    pub fn new(mappings: &[Mapping]) -> Self {
        let mut by_path = BTreeMap::<&Path, Vec<(u64, u64)>>::new();
        for mapping in mappings {
            if let Some(path) = mapping.file() {
                by_path.entry(path).or_default().push((mapping.span.start.get(), mapping.offset));
            }
        }
        let modules = by_path.into_iter().filter_map(|(path, mappings)| Module::new(path, &mappings));
        let mut modules: Vec<Module> = modules.collect();
        modules.sort_by_key(|module| module.span.start);
        let program = mappings.iter().find_map(Mapping::file).map(Path::to_owned);
        Self { modules, program }
    }

    /// The object file that an address belongs to, its data without initial values included.
    pub fn file(&self, address: Addr) -> Option<&Path> {
        self.modules.get(self.module(address)?).map(|module| &*module.path)
    }

    /// The variable that an address lies in.
    pub fn find(&mut self, address: Addr) -> Option<Global> {
        let module = self.module(address)?;
        let Module { path, bias, variables, .. } = &mut self.modules[module];
        let variables = variables.get_or_insert_with(|| Variables::open(path)).as_ref()?;
        let (name, start) = variables.at(in_file(address, *bias))?;
        let start = Addr::new(start) + *bias;
        Some(Global { name, start, offset: address - start })
    }

    /// Where the variable begins that an address lies in; else where its file does, less one so that it is no variable's, or 0.
    /// Nothing is read to find a name.
    pub(crate) fn beginning(&mut self, address: Addr) -> Addr {
        let Some(module) = self.module(address) else { return Addr::default() };
        let Module { path, bias, variables, span, .. } = &mut self.modules[module];
        let variables = variables.get_or_insert_with(|| Variables::open(path)).as_ref();
        let variable = variables.and_then(|variables| variables.beginning(in_file(address, *bias)));
        let no_variable = Addr::new(span.start.get().wrapping_sub(1));
        variable.map_or(no_variable, |variable| Addr::new(variable) + *bias)
    }

    /// What a word of a variable is, by the debug information of its file.
    pub(crate) fn word_of_variable(&mut self, address: Addr) -> Option<NativeWord> {
        let module = self.module(address)?;
        let start = self.find(address)?.start;
        let bias = self.modules[module].bias;
        let word = self.types(module)?.word_of_variable(in_file(start, bias), (address - start).get())?;
        Some(NativeWord::of(module, word))
    }

    /// What a word is that lies so far in a block.
    pub(crate) fn word_in(&mut self, block: NativeTarget, offset: Bytes) -> Option<NativeWord> {
        let word = self.types(block.module)?.word_in(block.target, offset.get())?;
        Some(NativeWord::of(block.module, word))
    }

    /// Members of the object that a container is in, that are whole numbers: their names, and where they lie with how many bytes.
    pub(crate) fn numbers_beside(&mut self, of: NativeContainer) -> Vec<(String, Range<u64>)> {
        self.types(of.module).map(|types| types.numbers(of.container.owner)).unwrap_or_default()
    }

    /// A class with virtual functions, by the address of their table and its name.
    pub(crate) fn class(&mut self, table: Addr, name: &str) -> Option<NativeTarget> {
        let module = self.module(table)?;
        let target = PointerTarget::Object(self.types(module)?.class(name)?);
        Some(NativeTarget { module, target })
    }

    /// The thread-local variable of the program itself that an address lies in, by the addresses of threads' control blocks: the variables
    /// lie right before these.
    pub(crate) fn thread_local(&mut self, address: Addr, control_blocks: &[Addr]) -> Option<OwnVariable> {
        let module = self.modules.iter().position(|module| Some(&module.path) == self.program.as_ref())?;
        let size = self.modules[module].thread_local?;
        let offset = control_blocks.iter().find_map(|block| {
            let start = Addr::new(block.get().checked_sub(size)?);
            (start <= address && address < *block).then(|| (address - start).get())
        })?;
        let (name, word) = self.types(module)?.thread_local(offset)?;
        Some(OwnVariable { function: None, name, word: NativeWord::of(module, word) })
    }

    /// The local variable of a function that an address of its frame lies in. `at` is the instruction that it is at.
    pub(crate) fn local(
        &mut self,
        at: Addr,
        end: Addr,
        registers: FrameRegisters,
        address: Addr,
    ) -> Option<OwnVariable> {
        let module = self.module(at)?;
        let at = in_file(at, self.modules[module].bias);
        let frame = RunningFrame { at, end: end.get(), registers };
        let found = self.types(module)?.local(&frame, address.get())?;
        let word = NativeWord::of(module, found.word);
        Some(OwnVariable { function: Some(found.function), name: found.name, word })
    }

    /// The registers of the caller of a function that is at an instruction.
    pub(crate) fn caller(
        &mut self,
        at: Addr,
        registers: &FrameRegisters,
        memory: impl Fn(u64) -> Option<u64>,
    ) -> Option<FrameRegisters> {
        let module = self.module(at)?;
        let Module { path, bias, unwind, .. } = &mut self.modules[module];
        let table = unwind.get_or_insert_with(|| UnwindTable::open(path)).as_ref()?;
        table.caller(in_file(at, *bias), registers, memory)
    }

    fn types(&mut self, module: usize) -> Option<&DebugTypes> {
        let Module { path, types, .. } = &mut self.modules[module];
        types.get_or_insert_with(|| if is_left_out(path) { None } else { DebugTypes::open(path) }).as_ref()
    }

    fn module(&self, address: Addr) -> Option<usize> {
        let last = self.modules.partition_point(|module| module.span.start <= address).checked_sub(1)?;
        (address < self.modules[last].span.end).then_some(last)
    }
}

impl Module {
    fn new(path: &Path, mappings: &[(u64, u64)]) -> Option<Self> {
        let image = Image::read(path)?;
        let (bias, extent) = (Bytes::new(image.bias(mappings)?), image.extent()?);
        let span = Span::new(Addr::new(extent.start) + bias, Addr::new(extent.end) + bias);
        let thread_local = image.thread_local();
        Some(Self {
            path: path.to_owned(),
            bias,
            span,
            variables: None,
            types: None,
            unwind: None,
            thread_local,
        })
    }
}

impl NativeWord {
    fn of(module: usize, word: WordType) -> Self {
        let target = word.target.map(|target| NativeTarget { module, target });
        let container = word.container.map(|container| NativeContainer { module, container });
        Self { member: word.member, class: word.class, target, container }
    }
}

/// How many bytes before each thread's control block are thread-local variables of the program itself.
pub(crate) fn thread_local_size(mappings: &[Mapping]) -> Option<u64> {
    Image::read(mappings.iter().find_map(Mapping::file)?)?.thread_local()
}

/// Where libraries of the system are.
const OF_SYSTEM: [&str; 4] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/// Whether the debug information of a file is not read: objects of Python's interpreter are known without it, variables of the system's libraries
/// hold what others hold for good, and what is Heaplens's own is nobody's holder.
fn is_left_out(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let of_system = OF_SYSTEM.iter().any(|folder| path.starts_with(folder));
    of_system || name.contains("python") || name.contains("heaplens")
}

/// An address as the symbols of its file have it.
fn in_file(address: Addr, bias: Bytes) -> u64 {
    address.get().wrapping_sub(bias.get())
}
