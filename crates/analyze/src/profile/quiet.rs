//! From when on a Python program made no marks itself, so that the recorder did: its imports were over then.

use heaplens_format::Nanos;
use heaplens_format::arena::marks::QUIET_NS;
use heaplens_format::recording::{MarkKind, Process};

/// When the recorder began to mark a Python program because that was quiet. Before its interpreter is seen it is marked as native programs are.
pub(crate) fn quiet_since(process: &Process) -> Option<Nanos> {
    process.python?;
    let first = Nanos::new(process.start.get() + QUIET_NS);
    let mut marks = process.marks.iter().filter(|mark| mark.kind == MarkKind::Interval && mark.at >= first);
    marks.next().map(|mark| mark.at)
}
