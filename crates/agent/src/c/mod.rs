//! Hooks of libc's own functions: the allocator, mappings, limits, libraries that come and go, and the real functions behind
//! them. What happens to a process as a whole is in `lifecycle`.

mod early_memory;
mod go;
mod limits;
mod loading;
pub mod malloc;
mod mapping;
pub mod real;
pub mod signals;
