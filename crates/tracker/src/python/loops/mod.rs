//! Which loops of the user's code are running, and how many iterations they made: known from what events see, without tracing.
//!
//! A `for` loop over a built-in iterator says itself how far it is. Any other loop has advanced when its frame went back
//! without an inner loop that would explain it, when a loop inside it began anew, or when the very stack comes again that
//! its last iteration began with.
//!
//! ```text
//!   event ─▶ the innermost frame that can loop: where it was? ──yes──▶ nothing to do          (nearly always)
//!                    │ no, or some events later
//!                    ▼
//!            all loops on the stack, outermost first ─▶ iterations ─▶ a mark, when one is due
//! ```
//!
//! Inside a loop that made twenty iterations no other makes marks: an iteration of the program is one of the outermost such loop. Where it
//! reports its iterations, it alone is asked, and some times in each iteration, not with every event (`pause`).
//!
//! What a loop did after it was last inspected is known when its iterator is freed, which Python does through our allocator, or at the next event
//! where it went to a free list.

mod event;
mod iterations;
mod pause;
mod records;
mod run;
mod running;
mod suspended;
mod watching;

pub use event::{Event, Tables};
pub use run::LoopEnd;
pub use watching::Loops;
