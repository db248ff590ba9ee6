//! Memory errors, grouped by what they are and by their line; and the suppression that matches one.

use heaplens_analyze::profile::{AnalysedError, StackFrame};
use heaplens_analyze::suppressions::{Generated, Names};

use super::number::{count, seconds};
use super::stack::label::NO_STACK;
use super::stack::location::frame_text;
use super::wording::{one_line, plural_count};

/// Errors of one kind at one line, which several stacks lead to.
#[derive(Clone, Debug)]
pub(crate) struct ErrorGroup<'a> {
    /// The first of them, which stands for all.
    pub(crate) first: &'a AnalysedError,
    /// How many there are.
    pub(crate) stacks: u64,
    /// How often they were made.
    pub(crate) count: u64,
}

/// Groups errors in the order of their first ones.
pub(crate) fn grouped<'a>(errors: impl IntoIterator<Item = &'a AnalysedError>) -> Vec<ErrorGroup<'a>> {
    let mut groups: Vec<ErrorGroup<'a>> = Vec::new();
    for error in errors {
        let is_same = |group: &&mut ErrorGroup<'a>| {
            group.first.brief == error.brief && location(group.first) == location(error)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => {
                group.stacks += 1;
                group.count = group.count.saturating_add(error.count);
            }
            None => groups.push(ErrorGroup { first: error, stacks: 1, count: error.count }),
        }
    }
    groups
}

/// Function, file and line.
fn location(error: &AnalysedError) -> Option<(Option<&str>, Option<&str>, Option<u32>)> {
    error.line().map(|frame| (frame.function.as_deref(), frame.file.as_deref(), frame.line))
}

/// `double free of a block of 40 bytes · 3 times`.
pub(crate) fn headline(group: &ErrorGroup<'_>) -> String {
    let error = group.first;
    let mut text = one_line(&error.brief);
    if error.bytes > 0 {
        text.push_str(&format!(" ({})", plural_count(error.bytes, "byte")));
    }
    if group.count > 1 {
        text.push_str(&format!(" · {} times", count(group.count)));
    }
    if group.stacks > 1 {
        text.push_str(&format!(" · {} stacks", count(group.stacks)));
    }
    text
}

/// The lines of a group: where it was made, and where the block was freed before and allocated.
pub(crate) fn lines(error: &AnalysedError, room: usize) -> Vec<(&'static str, String)> {
    let mut lines = vec![("at", line_of(&error.stack, room))];
    let stacks =
        [("freed at", &error.freed), ("allocated at", &error.allocated), ("created at", &error.origin)];
    lines.extend(
        stacks
            .into_iter()
            .filter(|(_, stack)| !stack.is_empty())
            .map(|(name, stack)| (name, line_of(stack, room))),
    );
    lines
}

/// When the bytes were changed, as far as that is known.
pub(crate) fn changed_between(error: &AnalysedError) -> Option<String> {
    let changed = error.changed?;
    let until = format!("changed at {}", seconds(changed.changed));
    Some(match changed.intact {
        Some(intact) => format!("The bytes were intact at {} of the run, and {until}", seconds(intact)),
        None => format!("The bytes were {until} of the run"),
    })
}

fn line_of(stack: &[StackFrame], room: usize) -> String {
    AnalysedError::line_of(stack).map_or_else(|| NO_STACK.to_owned(), |frame| frame_text(frame, room))
}

/// A suppression that matches an error, for Heaplens and Valgrind.
pub(crate) fn suppression(error: &AnalysedError, names: &Names, callers: usize) -> Generated {
    let stack: Vec<&StackFrame> = error.stack.iter().collect();
    Generated::of_error(error, &names.called(&stack), callers)
}
