//! Memory errors, with their stacks.

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{AnalysedError, ProcessRow, StackFrame};
use heaplens_format::Nanos;
use serde::ser::{Serialize, Serializer};

use super::{FrameFields, frame};

#[derive(serde::Serialize)]
pub(super) struct ErrorFields<'a> {
    /// Memcheck's name of the kind.
    kind: &'a str,
    /// In a few words.
    what: &'a str,
    /// Memcheck's sentence, and what it says of the address; `null` where it says nothing.
    text: &'a str,
    address_text: Option<&'a str>,
    /// The size of the block; 0 where there is none.
    bytes: u64,
    /// Bytes of the access; `null` where that is not known.
    access_bytes: Option<u64>,
    count: u64,
    /// The process that made it.
    pid: u32,
    location: Option<FrameFields<'a>>,
    stack: ErrorStack<'a>,
    allocated: ErrorStack<'a>,
    freed: ErrorStack<'a>,
    origin: ErrorStack<'a>,
    /// Between which moments of the run the bytes were changed; `null` where that is not known.
    intact_at_seconds: Option<f64>,
    changed_at_seconds: Option<f64>,
    engine: &'static str,
}

/// Those of all processes.
pub(super) fn errors(profile: &Profile) -> Vec<ErrorFields<'_>> {
    profile.tree_errors().into_iter().map(|(row, error)| fields(row, error)).collect()
}

fn fields<'a>(row: &ProcessRow, error: &'a AnalysedError) -> ErrorFields<'a> {
    ErrorFields {
        kind: &error.memcheck_kind,
        what: &error.brief,
        text: &error.what,
        address_text: Some(&*error.aux).filter(|text| !text.is_empty()),
        bytes: error.bytes,
        access_bytes: Some(error.access).filter(|&bytes| bytes > 0),
        count: error.count,
        pid: row.pid.get(),
        location: error.line().map(frame),
        stack: ErrorStack(&error.stack),
        allocated: ErrorStack(&error.allocated),
        freed: ErrorStack(&error.freed),
        origin: ErrorStack(&error.origin),
        intact_at_seconds: error.changed.and_then(|changed| changed.intact).map(seconds),
        changed_at_seconds: error.changed.map(|changed| seconds(changed.changed)),
        engine: error.engine.name(),
    }
}

fn seconds(moment: Nanos) -> f64 {
    moment.get() as f64 / 1e9
}

pub(super) struct ErrorStack<'a>(pub(super) &'a [StackFrame]);

impl Serialize for ErrorStack<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(frame))
    }
}
