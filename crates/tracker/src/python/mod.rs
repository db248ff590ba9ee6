//! Python's own frames, read from inside a hook: never called, nothing allocated, no reference counted, no lock needed,
//! since a thread reads the frames of itself alone. The one function that is called is `PyGILState_GetThisThreadState`,
//! a read of thread-local storage.
//!
//! ```text
//!   native stack (memo) ─┐
//!                        ├─ key ─▶ per-thread cache ─▶ alias in the trie ─▶ site            (the hot path)
//!   Python frames, hashed┘                                        │ first sight
//!                                                                 ▼
//!                        merge: each run of interpreter frames becomes the Python frames that it executes
//! ```

mod checkpoint;
mod code_kinds;
mod codes;
mod frames;
mod identities;
mod imports;
mod loops;
mod makers;
mod merge;
mod path;
mod scratch;
mod stack;
mod walk;

pub use codes::Line;
pub use imports::Import;
pub use loops::{Event, LoopEnd, Tables};
pub use makers::Maker;
pub use merge::{NativeStack, PythonCaller};
pub use scratch::PythonScratch;
pub use walk::Hashed;
