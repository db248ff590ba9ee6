//! What the page of `memcheck` shows of errors and leaks, and how it writes a frame of a stack.

use heaplens_analyze::profile::StackFrame;
use heaplens_analyze::suppressions::Names;
use heaplens_format::recording::LeakKind;

use crate::catalogue::stack::location::frame_text;
use crate::catalogue::wording::one_line;

/// Which errors and leaks are shown, and how much of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakOptions<'a> {
    /// Kinds whose stacks are shown; none: sums alone.
    pub kinds: Vec<LeakKind>,
    /// Whether there was to be a leak check.
    pub is_leak_check: bool,
    /// Kinds that count as errors.
    pub errors: Vec<LeakKind>,
    /// Frames of a stack.
    pub callers: usize,
    /// Where any is given, paths of files are shown in full, or after the first of these prefixes that they contain.
    pub paths_after: Vec<String>,
    /// Whether the suppressions that matched are listed.
    pub names_suppressed: bool,
    /// What Valgrind calls the frames, where a suppression is to follow each stack.
    pub suppressions: Option<&'a Names>,
}

/// A frame of a stack.
pub(super) fn frame_line(frame: &StackFrame, options: &LeakOptions<'_>, width: usize) -> String {
    let full = full_location(frame, &options.paths_after);
    format!("     {}", full.unwrap_or_else(|| frame_text(frame, width.saturating_sub(5))))
}

/// A frame with the path of its file, where that is asked for and known.
fn full_location(frame: &StackFrame, paths_after: &[String]) -> Option<String> {
    let (file, line) = (frame.file.as_deref().filter(|_| !paths_after.is_empty())?, frame.line?);
    let after_prefix = |after: &String| file.split_once(after.as_str()).map(|(_, path)| path);
    let path = paths_after.iter().filter(|after| !after.is_empty()).find_map(after_prefix).unwrap_or(file);
    let name = frame.function.as_deref().unwrap_or_default();
    Some(one_line(&format!("{name}  {path}:{line}")))
}
