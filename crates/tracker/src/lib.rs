//! Everything that happens inside the program: thread slots, unwinding, the tables of the arena, counters.
//!
//! It is a library without exported C symbols, so that an ordinary unit test can call it; the agent is the shell around
//! it. Nothing here allocates, locks, formats or panics on the path of an event: memory comes from the arena or from
//! pages of our own, shared words are atomics, and what cannot be recorded is counted as a [`heaplens_format::Loss`].
//!
//! ```text
//!   hook ─▶ thread slot (who am I, busy?) ─▶ unwind (stack) ─▶ trie (node) ─▶ sites (counters) ─▶ blocks (address → site)
//! ```
//!
//! Rooms know those before them alone:
//!
//! ```text
//!   sys ─ process ─ tables ─ checks ─ objects ─ modules ─ unwind ─ python ─ thread ─ tracker ─ profiles, requests ─ lifecycle ─ events
//! ```
#![no_std]

#[cfg(test)]
extern crate std;

pub mod checks;
pub mod events;
pub mod lifecycle;
pub mod modules;
pub mod objects;
pub mod process;
pub mod profiles;
pub mod python;
pub mod requests;
pub mod sys;
pub mod tables;
pub mod thread;
pub mod tracker;
pub mod unwind;

pub use thread::guard::{Guard, Nesting};
pub use tracker::{Tracker, tracker};
pub use unwind::Caller;
