//! From a profile to what people and scripts read: one room per kind of output, and a catalogue of what they all say alike. Reports
//! compute nothing that another report would want as well; that is the profile's work.
#![forbid(unsafe_code)]

mod catalogue;
pub mod export;
pub mod html;
pub mod json;
pub mod text;

pub use catalogue::diff::RecordingSide;
pub use catalogue::source::Sources;
