//! Running Valgrind's Memcheck as an engine: finding it, starting a program under it, and handing what it writes to a reader while it
//! runs. Nothing here reads that output or judges it, and of the program's own input and output it decides only what a second run gets.
//!
//! ```text
//!   program under Valgrind ──▶ pipe ──▶ EngineXml ──▶ the caller's reader, on a thread of its own
//!        │ ends: until_end returns ──▶ the stop pipe closes ──▶ EngineXml ends, though a descendant may hold its pipe
//! ```

mod command;
mod log;
mod output;
mod run;
mod stdin;
mod valgrind;

pub use output::EngineXml;
pub use run::{EngineOptions, EngineRun, run_engine};
pub use stdin::SecondInput;
pub use valgrind::{EngineError, Valgrind};
