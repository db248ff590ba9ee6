//! Which loops of the user's code are running, and how many passes they made: told by what events see, without tracing.
//!
//! A `for` loop over a built-in iterator says itself how far it is. Any other loop has passed when its frame went back
//! without an inner loop that would explain it, when a loop inside it began anew, or when the very stack comes again that
//! its last pass began with.
//!
//! ```text
//!   event ─▶ the innermost frame that can loop: where it was? ──yes──▶ nothing to do          (nearly always)
//!                    │ no, or some events later
//!                    ▼
//!            all loops on the stack, outermost first ─▶ passes ─▶ a mark, when one is due
//! ```
//!
//! Inside a loop that made twenty passes no other makes marks: an iteration is a pass of the outermost such loop. Where it
//! tells its passes, it alone is asked, and some times in each pass, not with every event (`pause`).
//!
//! What a loop did after it was last looked at is known when its iterator is freed, which Python does through our allocator.

mod event;
mod iterations;
mod pause;
mod records;
mod running;
mod watching;

pub use event::{Event, Tables};
pub use watching::Loops;
