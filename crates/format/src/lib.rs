//! The bytes that both banks agree on: units, the layout of an arena, the chunks of a recording, the names of
//! environment variables, and the few rules that must be the same wherever they are asked. It reads nothing by itself.
//!
//! The agent inside the program writes an *arena* (tables in a shared file); the recorder outside reads it and
//! seals a *recording* (one file). Neither side knows the other; both know this crate.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "recording")]
extern crate alloc;

pub mod arena;
pub mod atomic;
pub mod canary;
pub mod environment;
pub mod library_loops;
pub mod loss;
#[cfg(feature = "recording")]
pub mod main_loop;
pub mod memory;
pub mod object_file;
pub mod python_file;
#[cfg(feature = "recording")]
pub mod recording;
pub mod units;

pub use loss::Loss;
pub use units::{Addr, Bytes, CodeId, LoopId, ModuleId, Nanos, NodeId, Pid, SiteId};
