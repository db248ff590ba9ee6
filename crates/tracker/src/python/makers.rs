//! Who makes an operation of a graph: the frames from the user's innermost one inwards. What called that one is left out: the
//! operation will run for other callers, too.

use heaplens_format::NodeId;
use heaplens_format::arena::python::python_frame;

use super::codes::{self, Line, Writer};
use super::scratch::PythonScratch;
use crate::modules::interpreter::Thread;
use crate::tables::arena::Arena;
use crate::tables::trie::Trie;

/// What is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// The user's line and what it calls.
    Known(NodeId),
    /// Code that a tool wrote after the user's: whoever knows the tool knows the line.
    Rewritten,
    /// No code of the user's.
    Nobody,
}

impl PythonScratch {
    /// Whoever is making something now.
    pub fn maker(&mut self, thread: Thread<'_>, arena: &Arena, trie: &Trie) -> Maker {
        self.forget_checkpoint();
        self.walk.read(thread, 0);
        let Self { walk, path, codes, .. } = self;
        let mut numbered = |code: u64| codes.number(thread.known, arena, trie, code);
        let writer = |code: Option<u32>| code.map_or(Writer::Library, |code| codes::writer(arena, code));
        let users =
            walk.frames().iter().enumerate().find_map(|(at, frame)| match writer(numbered(frame.code)) {
                Writer::Library => None,
                writer => Some((at, writer)),
            });
        let at = match users {
            Some((at, Writer::User)) => at,
            Some(_) => return Maker::Rewritten,
            None => return Maker::Nobody,
        };
        path.begin();
        for frame in walk.frames()[..=at].iter().rev() {
            if let Some(code) = numbered(frame.code) {
                path.push(python_frame(code, frame.instruction));
            }
        }
        Maker::Known(path.node(arena, trie))
    }

    /// A line of a file that somebody else knows to be the maker's. `None`: the arena is full.
    pub fn maker_at(&mut self, arena: &Arena, trie: &Trie, line: Line<'_>) -> Option<NodeId> {
        self.forget_checkpoint();
        let code = codes::line_of_file(arena, trie, line)?;
        self.path.begin();
        self.path.push(python_frame(code, 0));
        Some(self.path.node(arena, trie))
    }
}
