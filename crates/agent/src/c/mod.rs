//! Hooks of libc's own functions: the allocator, mappings, limits, libraries that come and go, and the real functions behind
//! them. What happens to a process as a whole is in `lifecycle`.

pub mod arguments;
pub mod checked;
#[cfg(feature = "arguments")]
pub mod copies;
mod early_memory;
pub mod export;
mod go;
pub mod guard_turns;
mod limits;
mod loading;
pub mod malloc;
mod mapping;
pub mod real;
pub mod signals;
