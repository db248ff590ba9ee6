//! The errors of a recorded process, with their stacks by name.

use heaplens_format::NodeId;
use heaplens_format::arena::error::guard_side;
use heaplens_format::recording::Process;
use heaplens_format::recording::errors::{ErrorKind, MemoryError};

use super::analysed::{AnalysedError, Engine, MemoryErrors};
use super::canaries;
use super::sentences;
use crate::profile::stacks::{LineKey, StackFrame, Stacks, is_own};

/// The errors of a process.
pub(crate) fn of(process: &Process, stacks: &Stacks) -> MemoryErrors {
    let mut errors = MemoryErrors { guarded_blocks: process.guarded_blocks, ..MemoryErrors::default() };
    for error in &process.errors {
        let analysed =
            AnalysedError { changed: canaries::changed(process, error), ..analysed(error, stacks) };
        if error.kind != ErrorKind::MismatchedFree {
            add(&mut errors.reported, analysed);
        } else if is_proved(&analysed) {
            let is_users = is_own(&analysed.stack, &process.executable);
            add(if is_users { &mut errors.reported } else { &mut errors.of_libraries }, analysed);
        }
    }
    for (error, changed) in canaries::unreported(process) {
        let what = canaries::FOUND_BY_CHECK.to_owned();
        add(&mut errors.reported, AnalysedError { changed, what, ..analysed(&error, stacks) });
    }
    errors
}

fn analysed(error: &MemoryError, stacks: &Stacks) -> AnalysedError {
    let frames = |node: NodeId| stacks.frames(stacks.of(node)).cloned().collect::<Vec<_>>();
    AnalysedError {
        kind: Some(error.kind),
        memcheck_kind: sentences::memcheck_kind(error.kind).into(),
        brief: sentences::brief(error),
        what: sentences::what(error),
        aux: sentences::aux(error),
        stack: frames(error.stack),
        allocated: error.allocated.map(frames).unwrap_or_default(),
        freed: error.freed.map(frames).unwrap_or_default(),
        bytes: error.block.map_or(0, |block| block.size.get()),
        access: error.access.get(),
        guarded: matches!(error.kind, ErrorKind::Overrun | ErrorKind::Underrun)
            .then(|| guard_side(error.extra))
            .flatten(),
        count: error.count,
        engine: Engine::Heaplens,
        ..AnalysedError::default()
    }
}

/// The same lines may be several calls to the compiler, and equal stacks have several numbers where threads met.
fn add(errors: &mut Vec<AnalysedError>, error: AnalysedError) {
    let is_same = |known: &&mut AnalysedError| {
        let pairs = [
            (&known.stack, &error.stack),
            (&known.allocated, &error.allocated),
            (&known.freed, &error.freed),
        ];
        known.brief == error.brief && pairs.into_iter().all(|(one, other)| lines(one) == lines(other))
    };
    match errors.iter_mut().find(is_same) {
        Some(known) => known.count = known.count.saturating_add(error.count),
        None => errors.push(error),
    }
}

/// The lines of a stack; of a frame without one its address counts.
fn lines(stack: &[StackFrame]) -> Vec<LineKey<'_>> {
    stack.iter().map(|frame| frame.line_key(if frame.line.is_some() { 0 } else { frame.offset })).collect()
}

/// A library may have operators of its own, hidden from every other: they are not seen as what they are, but as the `malloc` or `free` in
/// them. So a mismatch is one only where both functions are known, and neither is such an operator.
fn is_proved(error: &AnalysedError) -> bool {
    [&error.stack, &error.allocated].into_iter().all(|stack| {
        let function = stack.first().and_then(|frame: &StackFrame| frame.function.as_deref());
        function.is_some_and(|name| !is_operator(name))
    })
}

fn is_operator(name: &str) -> bool {
    ["operator new", "operator delete", "_Zn", "_Zd"].iter().any(|prefix| name.starts_with(prefix))
}
