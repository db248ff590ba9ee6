//! Heap profiles that the program writes itself, as gperftools does: when they are due, who writes them, what they are called.
//!
//! ```text
//!   event ──▶ enough allocated, more in use than ever, or long ago? ──yes──▶ this thread writes PREFIX.NNNN.heap and goes on
//!   signal ─────────────────────────────────────────────────────────────▶ so does its handler
//!   end ──▶ waits for whoever writes, then writes the last one
//! ```
//!
//! Whoever finds another at it goes on without one: nobody waits but at the end. A profile is written under another name and given
//! its own when it is whole. What a file holds is in `text`.

mod largest;
mod schedule;
mod text;
mod write;

pub use schedule::Profiles;
