//! The recording: one sealed, self-contained file from which every output derives, on any machine.
//!
//! [`model`] is what it says; how it is written as chunks of bytes is the business of the codec beside it.

pub mod model;

pub use model::*;
