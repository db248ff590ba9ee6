//! What one thread keeps to name stacks with Python in them.

use heaplens_format::Addr;

use super::checkpoint::Checkpoint;
use super::codes::Codes;
use super::identities::Identities;
use super::imports::{Import, Imports};
use super::loops::{Event, LoopEnd, Loops, Tables};
use super::path::StackPath;
use super::walk::{Hashed, Walk};
use crate::modules::interpreter::Thread;
use crate::objects::samples::Samples;

/// What one thread needs to name a stack with Python in it. Zero pages are an empty one.
#[repr(C)]
pub struct PythonScratch {
    pub(super) walk: Walk,
    identities: Identities,
    /// The merged stack.
    pub path: StackPath,
    pub(super) codes: Codes,
    pub(super) checkpoint: Checkpoint,
    loops: Loops,
    pub(super) imports: Imports,
    /// Whether the last event of the thread was in an import.
    pub is_importing: bool,
    /// The most frames that it ever held: how much of it is resident.
    deepest: usize,
}

impl PythonScratch {
    /// Forgets everything: the arena was replaced.
    pub fn clear(&mut self) {
        self.codes.clear();
        self.path.forget();
        self.loops.clear();
        self.forget_checkpoint();
    }

    /// Forgets the stack before.
    pub(super) fn forget_checkpoint(&mut self) {
        self.checkpoint = Checkpoint::NONE;
    }

    /// A number for the Python stack of a thread, and what it says about loops.
    #[inline]
    pub fn hash(&mut self, thread: Thread<'_>, samples: &Samples) -> Hashed {
        thread.hash(&self.codes.looping, &mut self.identities, samples)
    }

    /// The import of a library that a thread is in, where it is in one.
    #[inline]
    pub fn import(&mut self, thread: Thread<'_>, samples: &Samples) -> Option<Import> {
        let import = self.imports.find(thread, &self.codes.looping, &mut self.identities, samples);
        self.is_importing = import.is_some();
        import
    }

    /// The same once more, where code with loops was met for the first time since.
    pub fn hash_again(&mut self, thread: Thread<'_>, samples: &Samples, seen: Hashed) -> Hashed {
        if self.codes.met_loops() { self.hash(thread, samples) } else { seen }
    }

    /// An event of a thread: loops of the user's code may have advanced.
    #[inline]
    pub fn note_loops(&mut self, event: Event<'_>, tables: Tables<'_>) {
        self.loops.on_event(event, &mut self.codes, tables);
    }

    /// A watched iterator is about to be freed: the end of its loop, where its iterations were marked.
    pub fn on_iterator_freed(
        &mut self,
        block: Addr,
        thread: Thread<'_>,
        tables: Tables<'_>,
    ) -> Option<LoopEnd> {
        self.loops.on_iterator_freed(block, thread, tables)
    }

    /// Bytes that were touched, when it is more than ever before.
    pub fn newly_resident(&mut self) -> Option<u64> {
        let grown = self.newly_deep() + self.loops.newly_resident();
        (grown != 0).then_some(grown)
    }

    fn newly_deep(&mut self) -> u64 {
        let depth = self.path.depth();
        if depth <= self.deepest {
            return 0;
        }
        let cache = if self.deepest == 0 {
            let tables =
                [size_of::<Codes>(), Loops::ALWAYS_RESIDENT, size_of::<Identities>(), size_of::<Imports>()];
            tables.iter().sum::<usize>() as u64 + 8192
        } else {
            0
        };
        let pages = |depth: usize| (depth as u64 * 48).div_ceil(4096);
        let grown = (pages(depth) - pages(self.deepest)) * 4096 + cache;
        self.deepest = depth;
        grown
    }
}
