//! What one thread needs between two events: its thread slot, the guard that proves that it is inside a hook, the words of its
//! thread-local storage, and its name in the arena.

pub mod annotation;
pub mod guard;
#[cfg(feature = "interleave")]
pub mod interleave;
pub(crate) mod names;
pub(crate) mod spare_stack;
pub mod thread_slot;
pub(crate) mod timer;
pub mod words;
pub mod work;
