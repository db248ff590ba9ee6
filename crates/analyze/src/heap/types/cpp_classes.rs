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

use heaplens_snapshot::ReadMemory;

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
    images: Vec<(u64, u64)>,
    /// By the address of a table of virtual functions, or of something else that lies in a file.
    known: HashMap<u64, u32>,
    by_name: HashMap<String, u32>,
    names: Vec<String>,
}

impl<'m, M: ReadMemory> CppClasses<'m, M> {
    /// `images` are the mappings of files that can be read, as ranges of addresses.
    pub fn new(memory: &'m M, mut images: Vec<(u64, u64)>) -> Self {
        images.sort_unstable();
        images.dedup_by(|next, last| {
            let is_near = next.0 <= last.1;
            last.1 = if is_near { last.1.max(next.1) } else { last.1 };
            is_near
        });
        Self {
            pages: Pages::new(memory),
            images,
            known: HashMap::new(),
            by_name: HashMap::new(),
            names: Vec::new(),
        }
    }

    /// The class of an object that begins with this word.
    pub fn of(&mut self, first_word: u64) -> Option<CppClass> {
        if !self.is_in_file(first_word) {
            return None;
        }
        let class = match self.known.get(&first_word) {
            Some(&class) => class,
            None => self.meet(first_word),
        };
        (class != NO_CLASS).then_some(CppClass(class))
    }

    /// Its readable name.
    pub fn name(&self, class: CppClass) -> &str {
        &self.names[class.index()]
    }

    fn meet(&mut self, table: u64) -> u32 {
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

    fn name_in(&mut self, table: u64) -> Option<String> {
        if self.pages.word(table.wrapping_sub(16))? != 0 {
            return None;
        }
        let info = self.info_of(table)?;
        // In a program that is not moved the table of the ABI's class may be a copy, which lies in no file.
        let table_of_info = self.pages.word(info)?;
        let meta = self.info_of(table_of_info)?;
        if !self.raw_name(meta)?.trim_start_matches('*').starts_with(OF_THE_ABI) {
            return None;
        }
        demangle_class(&self.raw_name(info)?)
    }

    fn info_of(&mut self, table: u64) -> Option<u64> {
        let info = self.pages.word(table.wrapping_sub(8))?;
        self.is_in_file(info).then_some(info)
    }

    fn raw_name(&mut self, info: u64) -> Option<String> {
        // Where names are compared by their characters the highest bit is set (ARM).
        let name = self.pages.word(info.wrapping_add(8))? & !(1 << 63);
        let bytes = self.pages.text(name, LONGEST_NAME)?;
        let is_plain = bytes.iter().all(|byte| (0x21..0x7f).contains(byte));
        if is_plain { String::from_utf8(bytes).ok() } else { None }
    }

    #[inline]
    fn is_in_file(&self, address: u64) -> bool {
        let behind = self.images.partition_point(|image| image.0 <= address);
        address & 7 == 0 && behind > 0 && address < self.images[behind - 1].1
    }
}
