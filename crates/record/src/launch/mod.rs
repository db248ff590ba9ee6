//! Starting the program: finding the file that a command names, checking whether the agent can be loaded into it, and starting it with
//! the agent's environment. It never waits for the program.

mod environment;
mod inspect;
mod lookup;
mod spawn;

pub(crate) use environment::Preload;
pub use inspect::BareReason;
pub(crate) use inspect::inspect;
pub(crate) use lookup::find;
pub use lookup::{LookupError, find_program};
pub(crate) use spawn::spawn;
