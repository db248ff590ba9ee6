//! What an event gives to loops: its thread and frames, and the tables that it may change.

use crate::modules::interpreter::Thread;
use crate::objects::samples::Samples;
use crate::tables::arena::Arena;
use crate::tables::marks::Marks;
use crate::tables::slot_id::SlotId;
use crate::tables::trie::Trie;

/// The tables that an inspection of loops reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    /// The arena.
    pub arena: &'a Arena,
    /// The trie, by which code objects are numbered.
    pub trie: &'a Trie,
    /// The marks.
    pub marks: &'a Marks,
    /// The objects that are noticed when they are freed.
    pub samples: &'a Samples,
}

/// An event, as far as loops are concerned.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The thread.
    pub thread: Thread<'a>,
    /// Its thread slot.
    pub slot: SlotId,
    /// The innermost frame whose code has loops; 0 where none has.
    pub loop_frame: u64,
    /// The whole stack; 0 where that it comes again says nothing.
    pub key: u64,
}
