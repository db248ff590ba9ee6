//! What Valgrind found besides errors, where it was the engine.

use std::collections::BTreeMap;

use heaplens_analyze::memcheck_engine::{EngineFindings, EngineRecord, FoldedRecords};

use super::errors::ErrorStack;
use crate::catalogue::engine::unread;

#[derive(serde::Serialize)]
pub(super) struct EngineFields<'a> {
    engine: &'static str,
    version: Option<&'a str>,
    /// Why what it wrote was not read to its end; `null` where it was.
    incomplete: Option<String>,
    /// The signal that ended the program.
    signal: Option<&'a str>,
    /// Records without a frame of the user's code, by object file.
    outside: Vec<OutsideFields<'a>>,
    /// Records of the user's code beyond those that are kept.
    not_kept: u64,
    suppressed: Vec<SuppressedFields<'a>>,
    /// Leaks of the user's code, where no other engine searched for them.
    leaks: Vec<LeakFields<'a>>,
}

#[derive(serde::Serialize)]
struct OutsideFields<'a> {
    module: &'a str,
    /// Why they are no errors; `null`: no frame of them is in the user's code.
    reason: Option<&'static str>,
    records: u64,
    kinds: &'a BTreeMap<String, u64>,
    count: u64,
    lost_bytes: u64,
}

#[derive(serde::Serialize)]
struct SuppressedFields<'a> {
    name: &'a str,
    count: u64,
}

#[derive(serde::Serialize)]
struct LeakFields<'a> {
    kind: &'a str,
    text: &'a str,
    bytes: u64,
    blocks: u64,
    stack: ErrorStack<'a>,
}

pub(super) fn engine(found: &EngineFindings) -> EngineFields<'_> {
    EngineFields {
        engine: "valgrind",
        version: found.version.as_deref(),
        incomplete: unread(found),
        signal: found.signal.as_deref(),
        outside: found.folded.iter().map(outside).collect(),
        not_kept: found.not_kept,
        suppressed: found
            .suppressed
            .iter()
            .map(|(name, count)| SuppressedFields { name, count: *count })
            .collect(),
        leaks: found.records.iter().filter(|record| record.leak_kind().is_some()).map(leak).collect(),
    }
}

fn outside(folded: &FoldedRecords) -> OutsideFields<'_> {
    OutsideFields {
        module: &folded.module,
        reason: folded.reason,
        records: folded.records(),
        kinds: &folded.kinds,
        count: folded.count,
        lost_bytes: folded.leaked,
    }
}

fn leak(record: &EngineRecord) -> LeakFields<'_> {
    let (bytes, blocks) = record.leaked.unwrap_or_default();
    LeakFields { kind: &record.kind, text: &record.what, bytes, blocks, stack: ErrorStack(&record.stack) }
}
