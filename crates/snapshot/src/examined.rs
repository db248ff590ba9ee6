//! What was found in one snapshot, on its way into a recording.

use heaplens_format::recording::{HeapView, LeakCheck};

/// What was found. Sites are numbered as those of [`Block`](crate::Block).
#[derive(Clone, Debug, Default)]
pub struct Examined {
    /// Which blocks can be reached, where that was asked.
    pub leaks: Option<LeakCheck>,
    /// What the heap looks like, where that was asked. When it was taken and how long that took is left to whoever took it.
    pub view: Option<HeapView>,
}
