//! The session of a run: its directory, the arenas in it, and the FIFO by which agents wake the recorder. It never reads an
//! arena.

mod arenas;
mod directory;
mod wake_up;

pub(crate) use arenas::{ArenaName, Listing, arenas};
pub use directory::{Session, SessionError};
pub(crate) use wake_up::WakeUpFifo;
