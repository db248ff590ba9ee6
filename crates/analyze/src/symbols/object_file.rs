//! One object file: is it the one that ran, what does it say about an address. Symbol tables are read in pieces,
//! never the whole file: some libraries have hundreds of megabytes.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use heaplens_format::recording::Function;
use object::Endianness;
use object::elf::{self, Sym64};
use object::read::elf::{ElfFile64, SectionHeader, Sym, SymbolTable};

use super::covering::{Covering, Span};
use super::debug_file;
use super::demangle::demangle;
use super::headers::{Cache, Facts, open_cache};
use super::lines::Lines;
use super::strings::Strings;

type Elf<'a> = ElfFile64<'a, Endianness, &'a Cache>;
type Symbols<'a> = SymbolTable<'a, elf::FileHeader64<Endianness>, &'a Cache>;

/// The files that say what an object file has at an address. Its build id is the recorded one.
pub(super) struct SymbolFiles {
    pub(super) object: PathBuf,
    pub(super) build_id: Vec<u8>,
    /// Its debug file.
    debug: Option<PathBuf>,
    /// The one with lines, and the file of what it shares with others.
    lines: Option<(PathBuf, Option<PathBuf>)>,
}

impl SymbolFiles {
    /// `None` when the file at `path` is gone, is no object file or has another build id.
    pub(super) fn find(path: &Path, build_id: &[u8]) -> Option<Self> {
        let facts = Facts::read(path)?;
        if !build_id.is_empty() && facts.clues.build_id != build_id {
            return None;
        }
        let debug = debug_file::find(path, &facts.clues);
        let lines = lines_of(path, &facts).or_else(|| {
            let debug = debug.as_deref()?;
            lines_of(debug, &Facts::read(debug)?)
        });
        Some(Self { object: path.to_owned(), build_id: facts.clues.build_id, debug, lines })
    }

    /// All of them.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let lines = self.lines.iter().flat_map(|(file, supplement)| [Some(file), supplement.as_ref()]);
        let all = [Some(&self.object), self.debug.as_ref()].into_iter().chain(lines);
        all.flatten().map(PathBuf::as_path)
    }

    /// Of a file that has nothing beside it.
    #[cfg(test)]
    pub(super) fn of_file(path: &Path, build_id: &[u8]) -> Self {
        Self { object: path.to_owned(), build_id: build_id.to_vec(), debug: None, lines: None }
    }
}

fn lines_of(path: &Path, facts: &Facts) -> Option<(PathBuf, Option<PathBuf>)> {
    let supplement = facts.supplement.as_ref();
    let supplement = || supplement.and_then(|(name, id)| debug_file::find_supplement(path, name, id));
    facts.has_lines.then(|| (path.to_owned(), supplement()))
}

/// How glibc's names for calls of its own begin, which its debug information has in place of those that programs call: `__GI___strdup`.
const INTERNAL: &str = "__GI_";

/// What an object file says about addresses.
pub(super) struct ObjectFile {
    lines: Option<Lines>,
    tables: Vec<Table>,
}

impl ObjectFile {
    /// Opens the files.
    pub(super) fn open(sources: &SymbolFiles) -> Self {
        let lines = sources.lines.as_ref();
        let lines = lines.and_then(|(path, supplement)| Lines::open(path, supplement.as_deref()));
        let files = [Some(&sources.object), sources.debug.as_ref()];
        let tables = files.into_iter().flatten().filter_map(|path| Table::read(path, is_function));
        Self { lines, tables: tables.collect() }
    }

    /// The functions at an address, innermost first; empty where nothing is known.
    pub(super) fn functions(&mut self, address: u64, strings: &mut Strings) -> Vec<Function> {
        let mut functions =
            self.lines.as_ref().map_or_else(Vec::new, |lines| lines.functions(address, strings));
        if functions.last().is_none_or(|outermost| outermost.name.is_none())
            && let Some(name) = self.covering_name(address)
        {
            let name = Some(strings.share(&name));
            match functions.last_mut() {
                Some(outermost) => outermost.name = name,
                None => functions.push(Function { name, file: None, line: None }),
            }
        }
        if let Some(outermost) = functions.last_mut()
            && let Some(name) = outermost.name.as_deref().and_then(|name| self.better_name(address, name))
        {
            outermost.name = Some(strings.share(&name));
        }
        functions.retain(|function| function.name.is_some() || function.line.is_some());
        functions
    }

    /// All symbols of the function at an address, the shortest first: it is the one that Valgrind takes.
    pub(super) fn symbols(&self, address: u64) -> Vec<String> {
        let mut names: Vec<String> = self.tables.iter().flat_map(|table| table.names(address)).collect();
        let unversioned = |name: &String| name.find('@').unwrap_or(name.len());
        names.sort_by_key(|name| (unversioned(name), name.len(), name.clone()));
        names.dedup();
        names
    }

    /// The name of a function by its symbol, where debug information has less: in a namespace without a name it has no linkage name, and
    /// glibc's functions have those for calls of its own.
    fn better_name(&self, address: u64, name: &str) -> Option<String> {
        if name.starts_with(INTERNAL) {
            let symbols = self.symbols(address);
            return symbols.first().map(|name| name.split('@').next().unwrap_or(name).to_owned());
        }
        let is_plain = !name.contains("::");
        let full = self.covering_name(address).filter(|_| is_plain)?;
        (full.rsplit("::").next() == Some(name) && full != name).then_some(full)
    }

    fn covering_name(&self, address: u64) -> Option<String> {
        self.tables.iter().find_map(|table| table.name(address)).map(|name| demangle(&name))
    }
}

/// The variables of a file: objects in its symbol tables and in those of its debug file.
pub(crate) struct Variables {
    tables: Vec<Table>,
}

impl Variables {
    /// Opens the file at `path`; `None` when it is gone or is no object file.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let debug = debug_file::find(path, &Facts::read(path)?.clues);
        let files = [Some(path), debug.as_deref()];
        let tables = files.into_iter().flatten().filter_map(|path| Table::read(path, is_variable));
        Some(Self { tables: tables.collect() })
    }

    /// The variable that covers an address, readable, and where it begins.
    pub(crate) fn at(&self, address: u64) -> Option<(String, u64)> {
        let found = self.tables.iter().find_map(|table| table.find(address));
        // Of two ABIs of the C++ library it is the usual one.
        found.map(|(name, start)| (demangle(&name).replace("[abi:cxx11]", ""), start))
    }

    /// Where the variable begins that covers an address.
    pub(crate) fn beginning(&self, address: u64) -> Option<u64> {
        self.tables.iter().find_map(|table| Some(table.covering.at(address).next()?.start))
    }
}

/// Functions or variables of the symbol tables of one file. Names are few hundred bytes each and a file may have a million, so
/// only offsets are kept and a name is read when an address needs it.
struct Table {
    cache: Cache,
    covering: Covering<Name>,
}

/// Where a name lies in the file, and how good it is among several for the same function.
#[derive(Clone, Copy)]
struct Name {
    offset: u64,
    end: u64,
    rank: u8,
}

impl Table {
    fn read(path: &Path, wanted: Wanted) -> Option<Self> {
        // The tables themselves are read through another cache, which goes when they are sorted.
        let spans = read_spans(&open_cache(path)?, wanted)?;
        Some(Self { cache: open_cache(path)?, covering: Covering::new(spans) })
    }

    fn name(&self, address: u64) -> Option<String> {
        self.find(address).map(|(name, _)| name)
    }

    /// The best name that covers an address, and where it begins: the symbol that begins last, then a global one, then the
    /// plainest.
    fn find(&self, address: u64) -> Option<(String, u64)> {
        let start = self.covering.at(address).next()?.start;
        let names = self.ranked(address);
        let best =
            names.min_by_key(|(rank, name)| (Reverse(*rank), underscores(name), name.len(), name.clone()));
        best.map(|(_, name)| (name, start))
    }

    /// All names of that function.
    fn names(&self, address: u64) -> impl Iterator<Item = String> {
        self.ranked(address).map(|(_, name)| name)
    }

    fn ranked(&self, address: u64) -> impl Iterator<Item = (u8, String)> {
        let start = self.covering.at(address).next().map(|span| span.start);
        let aliases = self.covering.at(address).take_while(move |span| Some(span.start) == start);
        aliases.filter_map(|span| Some((span.symbol.rank, self.read_name(span.symbol)?)))
    }

    fn read_name(&self, name: Name) -> Option<String> {
        let bytes = object::ReadRef::read_bytes_at_until(&self.cache, name.offset..name.end, 0).ok()?;
        (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
    }
}

fn underscores(name: &str) -> usize {
    // A mangled C++ or Rust name begins with one that says nothing.
    let name = if name.starts_with("_Z") || name.starts_with("_R") { "" } else { name };
    name.bytes().take_while(|&byte| byte == b'_').count()
}

/// Which symbols count.
type Wanted = fn(&Sym64<Endianness>, Endianness) -> bool;

fn read_spans(cache: &Cache, wanted: Wanted) -> Option<Vec<Span<Name>>> {
    let file = ElfFile64::<Endianness, _>::parse(cache).ok()?;
    let mut spans = Vec::new();
    for table in [file.elf_symbol_table(), file.elf_dynamic_symbol_table()] {
        spans.extend(spans_of(&file, table, wanted).into_iter().flatten());
    }
    Some(spans)
}

fn spans_of<'a>(
    file: &Elf<'a>,
    table: &'a Symbols<'a>,
    wanted: Wanted,
) -> Option<impl Iterator<Item = Span<Name>> + use<'a>> {
    let endian = file.endian();
    let strings = file.elf_section_table().section(table.string_section()).ok()?;
    let (start, size) = strings.file_range(endian)?;
    let symbols = table.iter().filter(move |symbol| wanted(symbol, endian));
    Some(symbols.map(move |symbol| {
        let offset = start.saturating_add(symbol.st_name(endian).into());
        Span {
            start: symbol.st_value(endian),
            size: symbol.st_size(endian),
            symbol: Name { offset, end: start.saturating_add(size), rank: rank(symbol.st_bind()) },
        }
    }))
}

fn is_function(symbol: &Sym64<Endianness>, endian: Endianness) -> bool {
    matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC) && !symbol.is_undefined(endian)
}

fn is_variable(symbol: &Sym64<Endianness>, endian: Endianness) -> bool {
    symbol.st_type() == elf::STT_OBJECT && !symbol.is_undefined(endian)
}

fn rank(binding: elf::SymbolBind) -> u8 {
    match binding {
        elf::STB_GLOBAL => 2,
        elf::STB_WEAK => 1,
        _ => 0,
    }
}
