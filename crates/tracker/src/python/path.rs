//! A stack on its way into the trie: its frames and the hashes of all their paths, outermost first.

use heaplens_format::NodeId;
use heaplens_format::arena::Pseudo;

use crate::tables::arena::Arena;
use crate::tables::trie::{ROOT_HASH, Trie, extend_hash};

/// A native stack as deep as a memo holds, and a Python stack as deep as a walk reads.
const MOST_FRAMES: usize = crate::unwind::memo::MAX_DEPTH + super::walk::MOST_FRAMES;

/// So many frames of a stack are searched for at once. Of a new stack that many are new, not more: it is another point in a
/// function that is known, and what was called from there.
const MOST_EXPECTED: usize = 10;

/// Of a path that is pushed as a whole so many frames are taken, the innermost.
pub(super) const MOST_KNOWN: usize = 128;

#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct PathStep {
    word: u64,
    hash: u64,
    /// Its node, 0 while it is not known.
    node: u32,
}

/// Frames and the hashes of their paths. What a stack has in common with the one before it, from the outermost frame on, is
/// neither hashed nor looked up again: that is nearly all of it.
#[repr(C)]
pub struct StackPath {
    depth: usize,
    /// How many of the steps were those of the stack before.
    before: usize,
    /// Whether all frames so far are those of the stack before.
    is_same: bool,
    steps: [PathStep; MOST_FRAMES],
}

impl StackPath {
    /// Forgets the stack before: the arena was replaced.
    pub fn forget(&mut self) {
        (self.depth, self.before, self.is_same) = (0, 0, false);
    }

    /// The empty stack.
    pub fn begin(&mut self) {
        (self.before, self.depth, self.is_same) = (self.depth, 0, true);
    }

    /// The first frames of the stack before.
    pub fn resume(&mut self, depth: usize) {
        (self.before, self.is_same) = (self.depth, depth <= self.depth);
        self.depth = depth.min(self.depth);
    }

    /// Adds a frame that says something about the stack, where there is one.
    pub fn push_all(&mut self, pseudo: Option<Pseudo>) {
        pseudo.into_iter().for_each(|pseudo| self.push(pseudo.frame()));
    }

    /// Adds the next inner frame. More than there is room for cannot come.
    #[inline]
    pub fn push(&mut self, word: u64) {
        let (depth, hash) = (self.depth, self.hash());
        let Some(step) = self.steps.get_mut(depth) else { return };
        self.is_same = self.is_same && depth < self.before && step.word == word;
        if !self.is_same {
            *step = PathStep { word, hash: extend_hash(hash, word), node: 0 };
        }
        self.depth += 1;
    }

    /// Adds the frames of a path that is known, outermost first.
    pub fn push_path(&mut self, arena: &Arena, trie: &Trie, node: NodeId) {
        let (mut frames, mut count) = ([0; MOST_KNOWN], 0);
        for frame in trie.frames(arena, node).take(MOST_KNOWN) {
            frames[count] = frame;
            count += 1;
        }
        frames[..count].iter().rev().for_each(|&frame| self.push(frame));
    }

    /// How many frames there are.
    pub fn depth(&self) -> usize {
        self.depth
    }

    #[inline(always)]
    fn hash(&self) -> u64 {
        self.depth.checked_sub(1).map_or(ROOT_HASH, |top| self.steps[top].hash)
    }

    /// Its node: what is known of it is searched for from the inside out, the rest is inserted from the outside in.
    pub fn node(&mut self, arena: &Arena, trie: &Trie) -> NodeId {
        let steps = &mut self.steps[..self.depth];
        steps
            .iter()
            .rev()
            .take(MOST_EXPECTED)
            .take_while(|step| step.node == 0)
            .for_each(|step| trie.expect(step.hash));
        let mut known = steps.len();
        while known > 0 && steps[known - 1].node == 0 {
            let step = &mut steps[known - 1];
            step.node = trie.find(arena, step.hash).map_or(0, NodeId::get);
            known -= usize::from(step.node == 0);
        }
        let mut node = NodeId::new(known.checked_sub(1).map_or(0, |last| steps[last].node));
        for step in &mut steps[known..] {
            match trie.insert(arena, node, step.word, step.hash) {
                Some(next) => node = next,
                None => return node, // full: the bytes stay exact, the stack ends early
            }
            step.node = node.get();
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scratch::scratch;
    use proptest::prelude::*;
    use std::boxed::Box;
    use std::vec::Vec;

    proptest! {
        /// The naive model extends from the root, frame by frame.
        #[test]
        fn a_stack_has_the_node_of_its_frames_whatever_came_before(
            stacks in prop::collection::vec(prop::collection::vec(1u64..4, 0..8), 1..30)
        ) {
            let (arena, trie) = (scratch(), Trie::new());
            prop_assert!(trie.reset(&arena));
            // SAFETY: every field is a number or a flag, for which zero is a value.
            let mut path: Box<StackPath> = unsafe { Box::new_zeroed().assume_init() };
            for stack in stacks {
                path.begin();
                stack.iter().for_each(|&frame| path.push(frame));
                let found = path.node(&arena, &trie);
                let (expected, _) = stack.iter().fold((NodeId::new(0), ROOT_HASH), |(node, hash), &frame| {
                    trie.extend(&arena, node, hash, frame)
                });
                prop_assert_eq!(found, expected, "{:?}", stack.iter().collect::<Vec<_>>());
            }
        }
    }
}
