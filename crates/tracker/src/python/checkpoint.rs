//! How far the stack before was merged.

use heaplens_format::arena::Pseudo;

use crate::unwind::memo::NativeFrame;

/// How far the stack before was merged up to the innermost Python frame. Where the same Python frames come with the same
/// native ones below them, only what lies above is new: a library that is being loaded makes thousands of such stacks.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Checkpoint {
    /// The number of the Python stack; 0: there is none.
    pub(super) python: u64,
    /// Of the native frame that executes its innermost run: the hash of its path, and its index.
    pub(super) native: u64,
    pub(super) index: usize,
    /// Frames of the merged stack up to there.
    pub(super) depth: usize,
    pub(super) kind: Option<Pseudo>,
}

impl Checkpoint {
    pub(super) const NONE: Self = Self { python: 0, native: 0, index: 0, depth: 0, kind: None };

    pub(super) fn holds(&self, python: u64, kind: Option<Pseudo>, frames: &[NativeFrame]) -> bool {
        self.python == python
            && self.kind == kind
            && self.depth != 0
            && frames.get(self.index).is_some_and(|frame| frame.hash == self.native)
    }
}
