//! Records of the engine as the errors that every report has: their sentences and stacks by what they are about.

use std::borrow::Cow;

use heaplens_format::recording::LeakKind;

use super::fold::EngineRecord;
use super::record::Auxiliary;
use super::whose::{ORIGIN, is_replacement};
use crate::profile::{AnalysedError, Engine, StackFrame};

/// What it says of the stack that allocated a block where it has named the one that freed it.
const ALLOCATED_AT: &str = "Block was alloc'd at";

impl EngineRecord {
    /// Which kind of leak it is, where it is no error of the program while it ran.
    pub fn leak_kind(&self) -> Option<LeakKind> {
        match self.kind.strip_prefix("Leak_")? {
            "DefinitelyLost" => Some(LeakKind::DefinitelyLost),
            "IndirectlyLost" => Some(LeakKind::IndirectlyLost),
            "PossiblyLost" => Some(LeakKind::PossiblyLost),
            _ => Some(LeakKind::StillReachable),
        }
    }
}

/// The error that a record is.
pub(crate) fn reported(record: &EngineRecord) -> AnalysedError {
    let mut error = AnalysedError {
        kind: None,
        memcheck_kind: Cow::Owned(record.kind.clone()),
        brief: brief(&record.kind, &record.what),
        what: record.what.clone(),
        stack: record.stack.clone(),
        access: number_after(&record.what, " of size ").unwrap_or(0),
        count: record.count,
        engine: Engine::Valgrind,
        ..AnalysedError::default()
    };
    record.auxiliary.iter().for_each(|one| add(&mut error, one));
    error
}

fn add(error: &mut AnalysedError, auxiliary: &Auxiliary) {
    let stack = without_allocator(&auxiliary.stack);
    match auxiliary.what.as_str() {
        what if what.starts_with(ORIGIN) => {
            (error.origin_what, error.origin) = (what.to_owned(), stack);
        }
        ALLOCATED_AT => error.allocated = stack,
        what if error.aux.is_empty() => {
            what.clone_into(&mut error.aux);
            error.bytes = number_after(what, "block of size ").unwrap_or(0);
            *if what.ends_with("free'd") { &mut error.freed } else { &mut error.allocated } = stack;
        }
        // "in frame #1, created by main (a.c:7)" and the like, without a stack of its own.
        what => error.aux.push_str(&format!(", {what}")),
    }
}

/// Stacks of blocks begin with the caller of the function that allocated or freed them, as those of Heaplens do.
fn without_allocator(stack: &[StackFrame]) -> Vec<StackFrame> {
    let is_allocator = |frame: &&StackFrame| frame.module.as_deref().is_some_and(is_replacement);
    stack.iter().skip_while(is_allocator).cloned().collect()
}

/// In a few words.
fn brief(kind: &str, what: &str) -> String {
    let brief = match kind {
        "UninitCondition" => "condition depends on a value that was never set",
        "UninitValue" => "use of a value that was never set",
        "SyscallParam" if what.contains("unaddressable") => "system call on memory that is not the program's",
        "SyscallParam" => "system call on bytes that were never set",
        "InvalidRead" => "invalid read",
        "InvalidWrite" => "invalid write",
        "InvalidFree" => "invalid free",
        "MismatchedFree" => "mismatched free",
        "InvalidJump" => "jump to an invalid address",
        "Overlap" => "copy between overlapping blocks",
        "FishyValue" => "size that was probably negative",
        _ => what,
    };
    brief.to_owned()
}

/// The number after these words: `1,024` is one.
fn number_after(text: &str, words: &str) -> Option<u64> {
    let (_, rest) = text.split_once(words)?;
    let digits = rest.split(|character: char| !(character.is_ascii_digit() || character == ',')).next()?;
    digits.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(module: &str) -> StackFrame {
        StackFrame {
            origin: crate::profile::Origin::Native,
            function: None,
            file: None,
            line: None,
            module: Some(module.into()),
            offset: 0,
        }
    }

    fn record(kind: &str, what: &str, auxiliary: &[(&str, &[&str])]) -> EngineRecord {
        let auxiliary = auxiliary.iter().map(|(what, modules)| Auxiliary {
            what: (*what).to_owned(),
            stack: modules.iter().map(|module| frame(module)).collect(),
        });
        EngineRecord {
            kind: kind.to_owned(),
            what: what.to_owned(),
            stack: vec![frame("/own")],
            auxiliary: auxiliary.collect(),
            leaked: None,
            count: 3,
            records: 1,
        }
    }

    const MALLOC: &str = "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so";

    #[test]
    fn stacks_go_where_their_sentences_say() {
        let freed = "Address 0x4a is 2 bytes inside a block of size 1,024 free'd";
        let of_freed = record(
            "InvalidRead",
            "Invalid read of size 4",
            &[(freed, &[MALLOC, "/f"]), (ALLOCATED_AT, &[MALLOC, "/a"])],
        );
        let error = reported(&of_freed);
        assert_eq!((error.access, error.bytes, error.count), (4, 1024, 3));
        assert_eq!((error.freed, error.allocated), (vec![frame("/f")], vec![frame("/a")]));
        let origin = "Uninitialised value was created by a heap allocation";
        let inside = "Address 0x4a is 0 bytes inside a block of size 10 alloc'd";
        let of_call = record(
            "SyscallParam",
            "Syscall param write(buf) points to uninitialised byte(s)",
            &[(inside, &[MALLOC, "/a"]), (origin, &[MALLOC, "/o"])],
        );
        let error = reported(&of_call);
        assert_eq!((error.aux.as_str(), error.allocated), (inside, vec![frame("/a")]));
        assert_eq!((error.origin_what.as_str(), error.origin), (origin, vec![frame("/o")]));
    }

    #[test]
    fn what_is_said_without_a_stack_is_one_sentence() {
        let parts =
            [("Address 0x1f is on thread 1's stack", &[][..]), ("in frame #1, created by f (a.c:7)", &[])];
        let error = reported(&record("InvalidWrite", "Invalid write of size 1", &parts));
        assert_eq!(error.aux, "Address 0x1f is on thread 1's stack, in frame #1, created by f (a.c:7)");
    }
}
