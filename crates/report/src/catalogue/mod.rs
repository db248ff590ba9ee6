//! What every output says alike: the names of frames, files and processes, numbers and units, and the wording of verdicts, findings,
//! ledgers and leaks. Text, HTML, JSON and exports import from here and never from each other. Nothing here writes an output.

pub(crate) mod evidence;
pub mod number;
pub(crate) mod reference_path;
pub mod source;
pub(crate) mod stack;
