//! From a profile to what people and scripts read: one module per output, each with a `write`. Reports compute nothing
//! that another report would want as well; that is the profile's work.
#![forbid(unsafe_code)]

pub mod baseline;
pub mod collapsed;
pub mod export;
mod holder;
pub mod html;
pub mod json;
mod label;
mod rules;
mod source;
pub mod text;
pub mod valgrind;

pub use source::Sources;
