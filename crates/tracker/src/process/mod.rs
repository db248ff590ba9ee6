//! What is known of this process as a whole, apart from its tables: what the agent does in it, what it was asked to do, and how
//! the programs that it starts are followed. It knows system calls and nothing else of this crate.

pub mod clock;
pub mod follow;
mod inspect;
pub mod settings;
pub(crate) mod wake_up;
