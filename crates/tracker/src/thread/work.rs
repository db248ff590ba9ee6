//! The site travels with the work. Operations of a framework run on threads of its own, which have no Python frames; what
//! they allocate there belongs to the line that made the operation. It is found by its name:
//!
//! ```text
//!   an operation is made ──▶ probe: name, Python frames ──▶ kept in the trie, under the name
//!                                                                │
//!   worker: the framework notes the name beside the thread ──▶ malloc ──▶ line that made it · native frames of the worker
//! ```
//!
//! Where a framework keeps the name, and what it looks like, its hooks know ([`WorkNames`]). What is inlined where it is called
//! is there under the name of the call and its own, joined by a slash. A name that operations of two lines have says nothing,
//! and leaves the stack as it is.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::NodeId;
use heaplens_format::arena::frame::{frame_word, split_frame};
use heaplens_format::arena::python::{FRAME_INTERN_MODULE, split_python_frame};

use super::annotation::WorkNames;
use super::words::annotation;
use crate::tables::arena::Arena;
use crate::tables::trie::{Trie, extend_hash};

/// Where the paths of names begin, apart from those of stacks; and those of names that two lines have.
const NAMES: u64 = 0x7097_0000_0000_0001;
const SHARED: u64 = 0x7097_5000_0000_0001;

/// Calls in calls that are told apart in a name.
const MOST_PARTS: usize = 32;
/// The call of one line may be at two instructions that are so close together, once the interpreter has specialised it.
const SAME_CALL: u32 = 4;

/// How often a name came to be shared: what was found by names before may not hold.
#[derive(Debug)]
pub struct Work {
    shared: AtomicU64,
}

impl Work {
    /// None was made yet.
    pub const fn new() -> Self {
        Self { shared: AtomicU64::new(0) }
    }

    /// A number for the operation that this thread runs; 0: none that it has announced.
    #[inline(always)]
    pub fn running(&self) -> u64 {
        if annotation().is_empty() { 0 } else { self.number() }
    }

    #[inline(never)]
    fn number(&self) -> u64 {
        annotation()
            .running()
            .map_or(0, |(name, _)| extend_hash(hash(NAMES, name), self.shared.load(Relaxed)))
    }

    /// The frames that made the operation that this thread runs.
    pub fn maker(&self, arena: &Arena, trie: &Trie) -> Option<NodeId> {
        let (name, names) = annotation().running()?;
        maker_of(arena, trie, name, names)
    }

    /// Keeps who made the operations of a name. `None`: the arena is full.
    pub(crate) fn keep(&self, arena: &Arena, trie: &Trie, name: &[u8], maker: NodeId) -> Option<()> {
        let word = |node: NodeId| frame_word(FRAME_INTERN_MODULE, u64::from(node.get()));
        let Some(known) = kept(arena, trie, name) else {
            trie.intern(arena, word(maker), hash(NAMES, name))?;
            return Some(());
        };
        if !is_same_line(arena, trie, known, maker) && trie.find(arena, hash(SHARED, name)).is_none() {
            trie.intern(arena, word(maker), hash(SHARED, name))?;
            self.shared.fetch_add(1, Relaxed);
        }
        Some(())
    }
}

impl Default for Work {
    fn default() -> Self {
        Self::new()
    }
}

/// The maker of an operation, by its whole name, else by its name after that of the calls that it was inlined into.
fn maker_of(arena: &Arena, trie: &Trie, name: &[u8], names: &WorkNames) -> Option<NodeId> {
    let mut own = name;
    for _ in 0..MOST_PARTS {
        if let Some(node) = kept(arena, trie, own) {
            return trie.find(arena, hash(SHARED, own)).is_none().then_some(node);
        }
        own = inner(arena, trie, own, names)?;
    }
    None
}

/// The name without that of the outermost call in front of it: `call/name`, or `loop/body/_12/name`.
fn inner<'n>(arena: &Arena, trie: &Trie, name: &'n [u8], names: &WorkNames) -> Option<&'n [u8]> {
    let slashes = name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let (call, rest) = slashes
        .map(|at| (&name[..at], &name[at + 1..]))
        .find(|(call, _)| kept(arena, trie, call).is_some() || (names.is_call)(call))?;
    (!call.is_empty()).then_some(rest)
}

/// The node that was kept under a name.
fn kept(arena: &Arena, trie: &Trie, name: &[u8]) -> Option<NodeId> {
    let node = trie.find(arena, hash(NAMES, name))?;
    Some(NodeId::new(split_frame(trie.frame(arena, node)).1 as u32))
}

/// Whether two makers are one line of the user's: their outermost frames.
fn is_same_line(arena: &Arena, trie: &Trie, one: NodeId, other: NodeId) -> bool {
    let outermost = |node: NodeId| trie.frames(arena, node).last().and_then(split_python_frame);
    let (Some((code, at)), Some((other_code, other_at))) = (outermost(one), outermost(other)) else {
        return one == other;
    };
    code == other_code && at.abs_diff(other_at) <= SAME_CALL
}

/// The hash of a name, eight bytes at a time.
fn hash(seed: u64, name: &[u8]) -> u64 {
    let (words, rest) = name.as_chunks::<8>();
    let hash = words.iter().fold(seed, |hash, word| extend_hash(hash, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    extend_hash(extend_hash(hash, u64::from_le_bytes(last)), name.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scratch::scratch;
    use crate::tables::trie::ROOT_HASH;
    use crate::thread::annotation::{ends_in_number, view_or_text};
    use heaplens_format::arena::python::python_frame;

    static NAMES: WorkNames = WorkNames { running: view_or_text, is_call: ends_in_number };

    /// Operations of these names, each made by an instruction of the user's.
    fn made(operations: &[(&str, u32, u32)]) -> (Arena, Trie, Work) {
        let (arena, trie, table) = (scratch(), Trie::new(), Work::new());
        assert!(trie.reset(&arena));
        for &(name, code, instruction) in operations {
            let (line, hash) =
                trie.extend(&arena, NodeId::new(0), ROOT_HASH, python_frame(code, instruction));
            let (maker, _) = trie.extend(&arena, line, hash, python_frame(99, 7));
            table.keep(&arena, &trie, name.as_bytes(), maker).unwrap();
        }
        (arena, trie, table)
    }

    fn line(tables: &(Arena, Trie, Work), name: &str) -> Option<(u32, u32)> {
        let (arena, trie, _) = tables;
        let node = maker_of(arena, trie, name.as_bytes(), &NAMES)?;
        trie.frames(arena, node).last().and_then(split_python_frame)
    }

    #[test]
    fn an_operation_is_the_line_that_made_it() {
        let tables = made(&[("MatMul", 1, 20), ("a_rather_long_name/MatMul", 2, 40)]);
        assert_eq!(line(&tables, "MatMul"), Some((1, 20)));
        assert_eq!(line(&tables, "a_rather_long_name/MatMul"), Some((2, 40)));
        assert_eq!(line(&tables, "Mat"), None);
        assert_eq!(line(&tables, "a_rather_long_name/Add"), None);
    }

    #[test]
    fn what_was_inlined_is_known_behind_the_name_of_the_call_alone() {
        let tables = made(&[
            ("step/MatMul", 1, 20),
            ("PartitionedCall", 2, 40),
            ("while", 3, 60),
            ("while/Add", 3, 70),
        ]);
        assert_eq!(line(&tables, "PartitionedCall/step/MatMul"), Some((1, 20)));
        assert_eq!(line(&tables, "PartitionedCall/PartitionedCall/step/MatMul"), Some((1, 20)));
        assert_eq!(line(&tables, "while/body/_3/while/Add"), Some((3, 70)));
        assert_eq!(line(&tables, "gradients/step/MatMul"), None, "nobody made a call of that name");
        assert_eq!(line(&tables, "PartitionedCall/"), None);
        assert_eq!(line(&tables, "/MatMul"), None);
    }

    #[test]
    fn a_name_of_two_lines_is_nobodys() {
        let tables = made(&[("MatMul", 1, 20), ("Add", 1, 60), ("MatMul", 1, 90), ("MatMul", 1, 20)]);
        assert_eq!(line(&tables, "MatMul"), None);
        assert_eq!(line(&tables, "Add"), Some((1, 60)));
        assert_eq!(tables.2.shared.load(Relaxed), 1);
        let again = made(&[("MatMul", 1, 20), ("MatMul", 1, 24)]);
        assert_eq!(line(&again, "MatMul"), Some((1, 20)), "the same call, specialised");
    }
}
