//! The interpreter that is read: where its state lies, how its version lays out memory, and the types that were met so far.

use heaplens_cpython::{Layout, ReadMemory, Version};
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::Span;

use super::class::ClassTable;
use super::pools;
use super::reader::Reader;

/// An interpreter in a process that stands still.
pub struct Python<'m, M> {
    pub(super) reader: Reader<'m, M>,
    pub(super) layout: Layout,
    pub(super) runtime: Addr,
    pub(super) type_type: Addr,
    pub(super) classes: ClassTable,
}

impl<'m, M: ReadMemory> Python<'m, M> {
    /// The interpreter whose `_PyRuntime` lies at this address. `None` where the version is not known, or there is none.
    pub fn open(memory: &'m M, (major, minor): (u8, u8), runtime: Addr) -> Option<Self> {
        let reader = Reader::new(memory);
        let layout = Layout::read(&reader, Version::new(major, minor), runtime.get()).ok()?;
        let mut python =
            Self { reader, layout, runtime, type_type: Addr::default(), classes: ClassTable::default() };
        python.find_type_type()?;
        // What was judged while looking for `type` was judged without it.
        python.classes = ClassTable::default();
        Some(python)
    }

    /// Where its `_PyRuntime` lies.
    pub fn runtime(&self) -> Addr {
        self.runtime
    }

    /// Blocks in use in Python's arenas: their addresses and the sizes of their classes.
    pub fn small_blocks(&self, arenas: &[Span]) -> Vec<(Addr, Bytes)> {
        let mut blocks = Vec::new();
        for &arena in arenas {
            pools::list(self.reader.memory(), self.layout.pools, arena, &mut blocks);
        }
        blocks
    }
}
