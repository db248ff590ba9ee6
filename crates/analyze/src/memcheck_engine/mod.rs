//! What Valgrind's Memcheck found, read from its XML while it is written: each record is judged and folded at once, so that a gigabyte of
//! them takes no more memory than one page. It runs nothing, and formats nothing.
//!
//! ```text
//!   XML ─▶ limited (bytes) ─▶ xml (elements) ─▶ record ─▶ whose ─▶ fold ─▶ EngineFindings ─▶ reported: errors as every report has them
//! ```

mod fold;
mod limited;
mod read;
mod record;
mod reported;
mod whose;
mod xml;

pub use fold::{EngineFindings, EngineRecord, FoldedRecords};
pub use read::read;
pub use record::Auxiliary;
pub(crate) use reported::reported;
pub use whose::UserCode;
pub use xml::Incomplete;
