//! A stack on its way into the trie: its frames and the hashes of all their paths, outermost first.

use heaplens_format::NodeId;

use crate::arena::Arena;
use crate::trie::{ROOT_HASH, Trie, extend_hash};

/// A native stack as deep as a memo holds, and a Python stack as deep as a walk reads.
const MOST_FRAMES: usize = crate::unwind::memo::MAX_DEPTH + super::walk::MOST_FRAMES;

#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Step {
    word: u64,
    hash: u64,
}

/// Frames and the hashes of their paths.
#[repr(C)]
pub struct Path {
    depth: usize,
    steps: [Step; MOST_FRAMES],
}

impl Path {
    /// The empty stack.
    pub fn clear(&mut self) {
        self.depth = 0;
    }

    /// Adds the next inner frame. More than there is room for cannot come.
    pub fn push(&mut self, word: u64) {
        let hash = extend_hash(self.hash(), word);
        if let Some(step) = self.steps.get_mut(self.depth) {
            *step = Step { word, hash };
            self.depth += 1;
        }
    }

    /// How many frames there are.
    pub fn depth(&self) -> usize {
        self.depth
    }

    fn hash(&self) -> u64 {
        self.depth.checked_sub(1).map_or(ROOT_HASH, |top| self.steps[top].hash)
    }

    /// Its node: what is known of it is looked for from the inside out, the rest is inserted from the outside in.
    pub fn node(&self, arena: &Arena, trie: &Trie) -> NodeId {
        let steps = &self.steps[..self.depth];
        let found = steps
            .iter()
            .enumerate()
            .rev()
            .find_map(|(index, step)| trie.find(arena, step.hash).map(|node| (index + 1, node)));
        let (known, mut node) = found.unwrap_or((0, NodeId::new(0)));
        for step in &steps[known..] {
            match trie.insert(arena, node, step.word, step.hash) {
                Some(next) => node = next,
                None => return node, // full: the bytes stay exact, the stack ends early
            }
        }
        node
    }
}
