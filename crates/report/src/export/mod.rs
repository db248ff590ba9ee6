//! What other tools read: one module per format, each with a `write`. All but the ledger's and the findings' are written from
//! [`Samples`], so that all of them have the same bytes.

pub mod collapsed;
pub mod csv;
pub mod dot;
pub mod gperftools;
pub mod massif;
pub mod pprof;
mod samples;
pub mod sarif;
pub mod speedscope;
mod uri;
pub mod valgrind;

pub use samples::{Samples, What};
