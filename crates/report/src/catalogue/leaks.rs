//! What kinds of leaks are called, and the suppression that matches one.

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{LeakRecord, StackFrame};
use heaplens_analyze::suppressions::{Generated, Names};
use heaplens_format::recording::LeakKind;

/// A suppression that matches this record, for Heaplens and Valgrind.
pub(crate) fn suppression(
    profile: &Profile,
    record: &LeakRecord,
    names: &Names,
    callers: usize,
) -> Generated {
    let stack: Vec<&StackFrame> = profile.frames(record.stack).collect();
    Generated::new(record.kind, &names.called(&stack), callers)
}

/// What a kind is called everywhere.
pub(crate) fn name(kind: LeakKind) -> &'static str {
    match kind {
        LeakKind::DefinitelyLost => "definitely lost",
        LeakKind::IndirectlyLost => "indirectly lost",
        LeakKind::PossiblyLost => "possibly lost",
        LeakKind::StillReachable => "still reachable",
    }
}
