//! What another engine found joins what Heaplens found itself: an error that both found is one.

use heaplens_format::recording::ErrorKind;

use super::profile::Profile;
use crate::memcheck_engine::{EngineFindings, reported};
use crate::profile::{AnalysedError, StackFrame};

impl Profile {
    /// Adds what the engine found in the process shown.
    pub fn join_engine(&mut self, found: EngineFindings) {
        let theirs: Vec<AnalysedError> =
            found.records.iter().filter(|record| record.leak_kind().is_none()).map(reported).collect();
        let own = &mut self.errors.reported;
        // What a canary or a filled block showed later is known here with the line that did it.
        own.retain(|error| !theirs.iter().any(|other| is_cause_of(other, error)));
        let more: Vec<AnalysedError> =
            theirs.into_iter().filter(|error| !own.iter().any(|other| is_same(other, error))).collect();
        own.extend(more);
        self.errors.suppressed.extend(found.suppressed.iter().cloned());
        self.engine = Some(found);
    }
}

/// The same kind of error, made at the same line.
fn is_same(own: &AnalysedError, other: &AnalysedError) -> bool {
    own.memcheck_kind == other.memcheck_kind && is_same_line(own.line(), other.line())
}

/// Whether an error of the engine's is the access whose traces were found later.
fn is_cause_of(other: &AnalysedError, own: &AnalysedError) -> bool {
    let is_trace =
        matches!(own.kind, Some(ErrorKind::Overrun | ErrorKind::Underrun | ErrorKind::WriteAfterFree));
    let line = AnalysedError::line_of;
    is_trace
        && other.memcheck_kind == "InvalidWrite"
        && is_same_line(line(&own.allocated), line(&other.allocated))
}

/// The two readers of debug information write folders in their own ways.
fn is_same_line(one: Option<&StackFrame>, other: Option<&StackFrame>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    let name =
        |frame: &StackFrame| frame.file.as_deref().map(|file| file.rsplit('/').next().map(str::to_owned));
    one.line.is_some() && one.line == other.line && name(one) == name(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memcheck_engine::{Auxiliary, EngineRecord};
    use crate::profile::Origin;

    fn frame(file: &str, line: u32) -> StackFrame {
        StackFrame {
            origin: Origin::Native,
            function: Some("f".into()),
            file: Some(file.into()),
            line: Some(line),
            module: Some("/home/u/own".into()),
            offset: 0,
        }
    }

    fn record(kind: &str, line: u32, allocated: u32) -> EngineRecord {
        EngineRecord {
            kind: kind.to_owned(),
            what: kind.to_owned(),
            stack: vec![frame("/home/u/./a.c", line)],
            auxiliary: vec![Auxiliary {
                what: "Address 0x4a is 0 bytes after a block of size 8 alloc'd".to_owned(),
                stack: vec![frame("/home/u/./a.c", allocated)],
            }],
            leaked: None,
            count: 1,
            records: 1,
        }
    }

    fn own(kind: ErrorKind, memcheck_kind: &'static str, line: u32, allocated: u32) -> AnalysedError {
        AnalysedError {
            kind: Some(kind),
            memcheck_kind: memcheck_kind.into(),
            stack: vec![frame("/home/u/a.c", line)],
            allocated: vec![frame("/home/u/a.c", allocated)],
            ..AnalysedError::default()
        }
    }

    fn joined(own: Vec<AnalysedError>, records: Vec<EngineRecord>) -> Vec<(&'static str, Option<u32>)> {
        let mut profile = Profile::default();
        profile.errors.reported = own;
        profile.join_engine(EngineFindings { records, ..EngineFindings::default() });
        let row = |error: &AnalysedError| (error.engine.name(), error.line().and_then(|frame| frame.line));
        profile.errors.reported.iter().map(row).collect()
    }

    #[test]
    fn a_bad_free_that_both_found_is_one() {
        let mine = vec![own(ErrorKind::DoubleFree, "InvalidFree", 9, 3)];
        let theirs = vec![record("InvalidFree", 9, 3), record("InvalidFree", 11, 3)];
        assert_eq!(joined(mine, theirs), [("heaplens", Some(9)), ("valgrind", Some(11))]);
    }

    #[test]
    fn a_trace_of_a_write_gives_way_to_the_write_itself() {
        let mine = vec![
            own(ErrorKind::Overrun, "InvalidWrite", 20, 3),
            own(ErrorKind::Overrun, "InvalidWrite", 20, 4),
        ];
        let theirs = vec![record("InvalidWrite", 9, 3)];
        assert_eq!(joined(mine, theirs), [("heaplens", Some(20)), ("valgrind", Some(9))]);
    }

    #[test]
    fn leaks_of_the_engine_are_no_errors_of_the_run() {
        assert_eq!(joined(Vec::new(), vec![record("Leak_DefinitelyLost", 9, 3)]), []);
    }
}
