//! The variables of one file, and what their words are.

use std::path::Path;

use super::entries::Entries;
use super::index::DebugIndex;
use super::locals::{self, RunningFrame};
use super::sections::Sections;
use super::words::{self, NodeType, PointerTarget, TypeEntry, WordType};
use crate::symbols::debug_file;
use crate::symbols::headers::Facts;

/// A local variable of a function that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalVariable {
    /// `main (server.cpp:12)`.
    pub(crate) function: String,
    /// The variable.
    pub(crate) name: String,
    /// What the word is.
    pub(crate) word: WordType,
}

/// The debug information of one file.
pub(crate) struct DebugTypes {
    sections: Sections,
    index: DebugIndex,
}

impl DebugTypes {
    /// Of the file at a path, or of its debug file; `None` where there is none, or too much of it.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let facts = Facts::read(path)?;
        if facts.has_lines {
            return Self::read(path);
        }
        Self::read(&debug_file::find(path, &facts.clues)?)
    }

    fn read(path: &Path) -> Option<Self> {
        let sections = Sections::read(path)?;
        let index = DebugIndex::read(&sections.dwarf()).ok()?;
        Some(Self { sections, index })
    }

    /// What a word is that lies so far in the variable that begins at an address of the file.
    pub(crate) fn word_of_variable(&self, start: u64, offset: u64) -> Option<WordType> {
        let entries = self.entries();
        let variable = *self.index.variables.get(&start)?;
        words::word_in(&entries, entries.type_of(variable)?, offset)
    }

    /// The thread-local variable that lies so far in the thread-local memory of the file, and what the word there is.
    pub(crate) fn thread_local(&self, offset: u64) -> Option<(String, WordType)> {
        let entries = self.entries();
        let (&start, &variable) = self.index.thread_locals.range(..=offset).next_back()?;
        let class = entries.type_of(variable)?;
        let is_in = entries.size(class).is_some_and(|size| offset - start < size);
        let word = words::word_in(&entries, class, offset - start).filter(|_| is_in)?;
        Some((entries.name(variable)?, word))
    }

    /// The local variable of a function that an address of its frame lies in.
    pub(crate) fn local(&self, frame: &RunningFrame, address: u64) -> Option<LocalVariable> {
        let entries = self.entries();
        let &(_, function) = self.index.functions.iter().find(|(code, _)| code.contains(&frame.at))?;
        let (variable, start) = locals::variable_at(&entries, function, frame, address)?;
        let word = words::word_in(&entries, entries.type_of(variable)?, address - start)?;
        let (name, place) = (entries.name(variable)?, entries.place(function)?);
        Some(LocalVariable { function: place, name, word })
    }

    /// What a word is that lies so far in a block.
    pub(crate) fn word_in(&self, block: PointerTarget, offset: u64) -> Option<WordType> {
        let entries = self.entries();
        let link = |to: NodeType| WordType { target: Some(PointerTarget::Node(to)), ..WordType::default() };
        match block {
            PointerTarget::Object(of) => words::word_in(&entries, of.0, offset),
            PointerTarget::Elements(of) => {
                let size = entries.size(of.0).filter(|&size| size > 0)?;
                words::word_in(&entries, of.0, offset % size)
            }
            PointerTarget::Node(node) => match offset.checked_sub(node.at) {
                Some(offset) => words::word_in(&entries, node.element.0, offset),
                None => Some(link(node)),
            },
            PointerTarget::Nodes(node) => Some(link(node)),
        }
    }

    /// A class with virtual functions, by its name with its namespaces.
    pub(crate) fn class(&self, name: &str) -> Option<TypeEntry> {
        self.index.classes.get(name).copied().map(TypeEntry)
    }

    /// Members of a class that are whole numbers: their names, and where they lie with how many bytes.
    pub(crate) fn numbers(&self, class: TypeEntry) -> Vec<(String, std::ops::Range<u64>)> {
        words::numbers(&self.entries(), class.0)
    }

    fn entries(&self) -> Entries<'_> {
        Entries::new(self.sections.dwarf(), &self.index)
    }
}
