//! Stacks: from the registers at a hook to the frames of all callers.
//!
//! ```text
//!   .eh_frame ─ cfi ─▶ rule ─ cache ─▶ walk (one step) ─▶ memo (this thread's previous stack, verified and joined)
//! ```
//!
//! Memory of the program is read in two places only: unwind tables through [`crate::modules::Segment`], stack words in [`walk`],
//! always between the hook's stack pointer and the end of the stack that it is on.

pub mod cache;
pub mod cfi;
pub mod memo;
mod reader;
pub mod rule;
pub mod stacks;
pub mod thread_cache;
pub mod walk;

pub use cache::Unwinder;
pub use walk::Caller;
