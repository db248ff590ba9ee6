//! How native code leads from a block to the next: by which member, and to an object of which class, where debug information says so.

use std::cell::{OnceCell, RefCell, RefMut};
use std::ops::Range;

use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{Mapping, ReadMemory, Span, ThreadState};

use super::limits::{Occupancy, occupancy};
use crate::heap::types::{Globals, NativeContainer, NativeFrames, NativeTarget, NativeWord, OwnVariable};
use crate::symbols::ElementCount;

/// What of a block is searched for the pointer that leads on.
const SEARCHED: usize = 64 << 10;

/// Names of variables, members and classes of native code.
pub(crate) struct NativeNames<'m, M> {
    memory: &'m M,
    globals: RefCell<Globals>,
    threads: &'m [ThreadState],
    /// Found when a path begins at a stack.
    frames: OnceCell<NativeFrames>,
}

/// What leads to the next block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NativeFrom {
    /// A word that is known, and what is in it.
    Word { word: NativeWord, address: Addr, value: Addr },
    /// Some word of a block.
    Block { span: Span, object: NativeObject },
}

/// An object in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NativeObject {
    pub(crate) target: NativeTarget,
    /// Where it begins in the block.
    pub(crate) at: Bytes,
}

impl NativeObject {
    /// What a pointer leads to in a block: where it points, or from the beginning on.
    pub(crate) fn at(target: NativeTarget, value: Addr, block: Span) -> Option<Self> {
        let at = if target.is_object() { value - block.start } else { Bytes::ZERO };
        block.contains(value).then_some(Self { target, at })
    }
}

impl<'m, M: ReadMemory> NativeNames<'m, M> {
    pub(crate) fn new(memory: &'m M, mappings: &[Mapping], threads: &'m [ThreadState]) -> Self {
        let globals = RefCell::new(Globals::new(mappings));
        Self { memory, globals, threads, frames: OnceCell::new() }
    }

    /// The variables of the process.
    pub(crate) fn globals(&self) -> RefMut<'_, Globals> {
        self.globals.borrow_mut()
    }

    /// A word of a variable.
    pub(crate) fn variable(&self, address: Addr) -> Option<NativeFrom> {
        let word = self.globals().word_of_variable(address)?;
        Some(NativeFrom::Word { word, address, value: self.word(address)? })
    }

    /// A word of a variable that belongs to one thread.
    pub(crate) fn own_variable(&self, address: Addr) -> Option<(OwnVariable, NativeFrom)> {
        let frames = || NativeFrames::new(self.threads, &mut self.globals(), self.memory);
        let found = self.frames.get_or_init(frames).variable(address, &mut self.globals())?;
        let from = NativeFrom::Word { word: found.word.clone(), address, value: self.word(address)? };
        Some((found, from))
    }

    /// The word that leads to a block, where it points to, and how full the container is that it is a part of, where that has a limit.
    pub(crate) fn word_to(
        &self,
        from: NativeFrom,
        to: Span,
    ) -> Option<(NativeWord, Addr, Option<Occupancy>)> {
        let (word, address, value) = match from {
            NativeFrom::Word { word, address, value } => (word, address, value),
            NativeFrom::Block { span, object } => {
                let (offset, value) = self.pointer(span, to)?;
                let in_object = Bytes::new(offset.get().checked_sub(object.at.get())?);
                (self.globals().word_in(object.target, in_object)?, span.start + offset, value)
            }
        };
        let occupancy = word.container.and_then(|container| self.occupancy(container, &word.member, address));
        Some((word, value, occupancy))
    }

    /// Of a container that is a member, by the address of one of its words.
    fn occupancy(&self, container: NativeContainer, member: &str, word: Addr) -> Option<Occupancy> {
        let name = member.rsplit('.').next().unwrap_or_default();
        let numbers = self.globals().numbers_beside(container);
        let owner = container.owner(word);
        let number = |(name, at): (String, Range<u64>)| {
            let size = (at.end - at.start).min(8);
            let mask = u64::MAX >> (64 - 8 * size.max(1));
            Some((name, self.word(owner + Bytes::new(at.start))?.get() & mask))
        };
        let elements = self.elements(container.start(word), container.count())?;
        occupancy(name, elements, numbers.into_iter().filter_map(number))
    }

    fn elements(&self, container: Addr, count: ElementCount) -> Option<u64> {
        match count {
            ElementCount::Word(at) => self.word(container + Bytes::new(at)).map(Addr::get),
            ElementCount::Between(size) => {
                let (first, end) = (self.word(container)?, self.word(container + Bytes::new(8))?);
                end.get().checked_sub(first.get())?.checked_div(size)
            }
        }
    }

    /// The object of a class with virtual functions that begins with this word.
    pub(crate) fn object_of_class(&self, block: Addr, class: &str) -> Option<NativeObject> {
        let table = self.word(block)?;
        let target = self.globals().class(table, class)?;
        Some(NativeObject { target, at: Bytes::ZERO })
    }

    /// The first pointer of a block to another: to its beginning, else into it.
    fn pointer(&self, from: Span, to: Span) -> Option<(Bytes, Addr)> {
        let mut bytes = vec![0; SEARCHED.min(from.length().get() as usize)];
        let length = self.memory.read(from.start.get(), &mut bytes);
        let words = bytes[..length].as_chunks::<8>().0.iter().zip(0_u64..);
        let words = words.map(|(word, at)| (Bytes::new(8 * at), Addr::new(u64::from_le_bytes(*word))));
        let found: Vec<(Bytes, Addr)> = words.filter(|(_, value)| to.contains(*value)).collect();
        found.iter().find(|(_, value)| *value == to.start).or(found.first()).copied()
    }

    fn word(&self, address: Addr) -> Option<Addr> {
        let mut bytes = [0; 8];
        let length = self.memory.read(address.get(), &mut bytes);
        (length == bytes.len()).then(|| Addr::new(u64::from_le_bytes(bytes)))
    }
}
