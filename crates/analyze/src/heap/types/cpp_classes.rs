//! C++ classes of blocks, by what the compiler left for `dynamic_cast`. It needs no symbols: stripped libraries have it, too.
//!
//! ```text
//!   block               table of virtual functions              std::type_info           characters
//!   │ pointer ─────┐    │ 0: the object begins here │           │ its own table │        "N4shop4BookE"
//!   │ …            │    │ type_info ────────────────┼─────────▶ │ name ─────────┼──────▶
//!                  └──▶ │ first function            │
//! ```
//!
//! All of it lies in files; nothing is taken for a class whose `type_info` is not itself of one of the ABI's own classes.

use std::collections::HashMap;

use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{ReadMemory, Span};

use crate::heap::memory::Pages;
use crate::symbols::demangle_class;

/// CppClasses that `type_info`s of classes are of.
const OF_THE_ABI: &str = "N10__cxxabiv1";
/// The longest name that is read: templates of templates have thousands of characters.
const LONGEST_NAME: usize = 4096;
const NO_CLASS: u32 = u32::MAX;

/// A class, by the order in which they were met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CppClass(u32);

impl CppClass {
    /// Its number: 0, 1, 2 …
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The classes of one process.
pub struct CppClasses<'m, M> {
    pages: Pages<'m, M>,
    /// Memory of files, sorted.
    files: Vec<Span>,
    /// By the address of a table of virtual functions, or of something else that lies in a file.
    known: HashMap<Addr, u32>,
    by_name: HashMap<String, u32>,
    names: Vec<String>,
}

impl<'m, M: ReadMemory> CppClasses<'m, M> {
    /// `files` are the mappings of files that can be read.
    pub fn new(memory: &'m M, mut files: Vec<Span>) -> Self {
        files.sort_unstable();
        files.dedup_by(|next, last| {
            let is_near = next.start <= last.end;
            last.end = if is_near { last.end.max(next.end) } else { last.end };
            is_near
        });
        Self {
            pages: Pages::new(memory),
            files,
            known: HashMap::new(),
            by_name: HashMap::new(),
            names: Vec::new(),
        }
    }

    /// The class of an object that begins with this word.
    pub fn of(&mut self, first_word: u64) -> Option<CppClass> {
        let table = Addr::new(first_word);
        if !self.is_in_file(table) {
            return None;
        }
        let class = match self.known.get(&table) {
            Some(&class) => class,
            None => self.meet(table),
        };
        (class != NO_CLASS).then_some(CppClass(class))
    }

    /// Its readable name.
    pub fn name(&self, class: CppClass) -> &str {
        &self.names[class.index()]
    }

    fn meet(&mut self, table: Addr) -> u32 {
        let class = self.name_in(table).map_or(NO_CLASS, |name| self.number(name));
        self.known.insert(table, class);
        class
    }

    /// Several tables may be of one class: a base keeps one for each class that is made from it.
    fn number(&mut self, name: String) -> u32 {
        let next = self.names.len() as u32;
        let class = *self.by_name.entry(name.clone()).or_insert(next);
        if class == next {
            self.names.push(name);
        }
        class
    }

    fn name_in(&mut self, table: Addr) -> Option<String> {
        if self.pages.word(before(table, 16))? != 0 {
            return None;
        }
        let info = self.info_of(table)?;
        // In a program that is not moved the table of the ABI's class may be a copy, which lies in no file.
        let table_of_info = Addr::new(self.pages.word(info)?);
        let meta = self.info_of(table_of_info)?;
        if !self.raw_name(meta)?.trim_start_matches('*').starts_with(OF_THE_ABI) {
            return None;
        }
        demangle_class(&self.raw_name(info)?)
    }

    fn info_of(&mut self, table: Addr) -> Option<Addr> {
        let info = Addr::new(self.pages.word(before(table, 8))?);
        self.is_in_file(info).then_some(info)
    }

    fn raw_name(&mut self, info: Addr) -> Option<String> {
        // Where names are compared by their characters the highest bit is set (ARM).
        let name = self.pages.word(info + Bytes::new(8))? & !(1 << 63);
        let bytes = self.pages.text(Addr::new(name), LONGEST_NAME)?;
        let is_plain = bytes.iter().all(|byte| (0x21..0x7f).contains(byte));
        if is_plain { String::from_utf8(bytes).ok() } else { None }
    }

    #[inline]
    fn is_in_file(&self, address: Addr) -> bool {
        let after = self.files.partition_point(|file| file.start <= address);
        address.get() & 7 == 0 && after > 0 && address < self.files[after - 1].end
    }
}

fn before(address: Addr, bytes: u64) -> Addr {
    Addr::new(address.get().wrapping_sub(bytes))
}
