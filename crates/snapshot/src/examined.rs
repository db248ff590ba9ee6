//! What was found in one snapshot, for the recording.

use heaplens_format::recording::{HeapView, LeakCheck};

/// What was found. Sites are numbered as those of [`Block`](crate::Block).
#[derive(Clone, Debug, Default)]
pub struct Examined {
    /// The leak check, if it was requested.
    pub leaks: Option<LeakCheck>,
    /// The view of the heap, if it was requested. The source of the snapshot fills in when it was taken and how long that took.
    pub view: Option<HeapView>,
}
