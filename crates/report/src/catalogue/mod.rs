//! What every output says alike: the names of frames, files and processes, numbers and units, and the wording of verdicts, findings,
//! ledgers and leaks. Text, HTML, JSON and exports import from here and never from each other. Nothing here writes an output.

pub(crate) mod diff;
pub(crate) mod engine;
pub(crate) mod errors;
pub(crate) mod evidence;
pub(crate) mod facts;
pub(crate) mod leaks;
pub(crate) mod ledger;
pub(crate) mod number;
pub(crate) mod process;
pub(crate) mod ranking;
pub(crate) mod reference_path;
pub(crate) mod sections;
pub(crate) mod source;
pub(crate) mod stack;
pub(crate) mod verdict;
pub(crate) mod wording;
