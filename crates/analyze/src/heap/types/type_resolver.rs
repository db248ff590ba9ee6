//! What each block is while the graph is made: a Python object, an object of a C++ class, or not known.

use std::collections::{HashMap, HashSet};

use heaplens_format::Addr;
use heaplens_snapshot::{Block, ReadMemory};

use super::arenas::Arenas;
use super::cpp_classes::CppClasses;
use super::interner::Interner;
use crate::heap::memory::{BlockId, BlockSet, Blocks};
use crate::heap::python::{ClassId, Python, PythonObject};
use crate::heap::scan::{Content, Links, NonOwningPart};

/// Words at the start of a block by which its content is known.
pub(crate) const WORDS: usize = 6;

/// The class of memory that the program mapped itself.
const MAPPING: &str = "mapping";

/// Finds out what blocks are, one after the other.
pub(crate) struct TypeResolver<'a, 'm, M> {
    python: Option<&'a Python<'m, M>>,
    arenas: &'a Arenas,
    cpp: CppClasses<'m, M>,
    names: &'a mut Interner,
    /// The class of each block, by the number of its name; 0 where it is not known.
    classes: Vec<u32>,
    /// Numbers of Python's classes.
    known: HashMap<ClassId, u32>,
    /// Addresses of what objects keep for later use.
    spare: Vec<Addr>,
    /// Parts of blocks whose pointers own nothing.
    non_owning: Vec<NonOwningPart>,
    /// Blocks that are mappings, and the class of those.
    mapped: &'a BlockSet,
    mapping: u32,
}

impl<'a, 'm, M: ReadMemory> TypeResolver<'a, 'm, M> {
    /// For so many blocks. Names of classes are numbered in `names`; `mapped` are blocks that the program mapped itself.
    pub(crate) fn new(
        python: Option<&'a Python<'m, M>>,
        arenas: &'a Arenas,
        cpp: CppClasses<'m, M>,
        mapped: &'a BlockSet,
        names: &'a mut Interner,
        blocks: usize,
    ) -> Self {
        let mapping = names.number(MAPPING);
        let (known, spare, non_owning) = (HashMap::new(), Vec::new(), Vec::new());
        Self {
            python,
            arenas,
            cpp,
            names,
            classes: vec![0; blocks],
            known,
            spare,
            non_owning,
            mapped,
            mapping,
        }
    }

    /// What was found; `is_extension` knows code of extension modules.
    pub(crate) fn finish(self, blocks: &Blocks, is_extension: impl Fn(Addr) -> bool) -> Types {
        let content = |class| match self.python {
            Some(python) if python.makes_classes(class) => Content::Class,
            Some(python) if python.deallocator(class).is_some_and(&is_extension) => Content::Extension,
            _ => Content::Object,
        };
        let python_classes = self.known.iter().map(|(&class, &number)| (number, content(class))).collect();
        let spare = self.spare.iter().filter_map(|&address| Some(blocks.find(address)?.0)).collect();
        Types { classes: self.classes, python_classes, spare }
    }

    /// Parts of blocks whose pointers own nothing.
    pub(crate) fn non_owning(&self) -> &[NonOwningPart] {
        &self.non_owning
    }

    /// Notes the class of a block, and says which of its words are non-owning pointers.
    pub(crate) fn resolve(&mut self, id: BlockId, block: Block, words: &[[u8; 8]]) -> Links {
        if self.mapped.contains(id) {
            self.classes[id.index()] = self.mapping;
            return Links::default();
        }
        let mut first = [0; WORDS];
        let count = words.len().min(WORDS);
        for (to, from) in first.iter_mut().zip(words) {
            *to = u64::from_le_bytes(*from);
        }
        let object = self
            .python
            .and_then(|python| Some((python, object_in(python, self.arenas, block, &first[..count])?)));
        let Some((python, object)) = object else {
            let class = self.cpp.of(first[0]).map(|class| self.names.number(self.cpp.name(class)));
            self.classes[id.index()] = class.unwrap_or(0);
            let words = &first[..count];
            let is_free = self.arenas.contains(block.address)
                && self.python.is_some_and(|python| python.is_in_free_list(words));
            let is_kept = self.arenas.is_empty() && self.python.is_some_and(|python| python.is_kept(words));
            self.spare.extend(is_kept.then_some(block.address));
            return Links { non_owning: if is_free || is_kept { u64::MAX } else { 0 }, ..Links::default() };
        };
        self.spare.extend(python.spare(object));
        self.non_owning.extend(python.non_owning_parts(object));
        let number = || self.names.number(&python.class_name(object.class));
        self.classes[id.index()] = *self.known.entry(object.class).or_insert_with(number);
        Links {
            non_owning: object.non_owning_words,
            object_at: (object.address - block.address).get() as u8,
            is_tracked: object.is_tracked,
        }
    }
}

/// What blocks are.
#[derive(Debug)]
pub(crate) struct Types {
    /// The class of each block, by the number of its name; 0 where it is not known.
    pub(crate) classes: Vec<u32>,
    /// Those of them that are Python's, and what their instances are.
    pub(crate) python_classes: HashMap<u32, Content>,
    /// Blocks that the interpreter keeps for later use.
    pub(crate) spare: HashSet<BlockId>,
}

/// The Python object in a block.
pub(crate) fn object_in<M: ReadMemory>(
    python: &Python<'_, M>,
    arenas: &Arenas,
    block: Block,
    words: &[u64],
) -> Option<PythonObject> {
    if arenas.may_hold(block) { python.object_in(block, words) } else { None }
}
