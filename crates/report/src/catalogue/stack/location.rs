//! A frame on the page: function and line, in the order in which each language's people read them.

use heaplens_analyze::profile::StackFrame;

use super::label::label;
use crate::catalogue::wording::{cut, one_line};

/// The least room for the name of a function; a location may then be cut.
const LEAST_NAME: usize = 16;

/// Where, and which function: `shop/train.py:42  Model.step` for Python, else `fill  src/rows.cpp:42`. Where room is
/// short the name is cut, not the line.
pub(crate) fn frame_text(frame: &StackFrame, room: usize) -> String {
    let Some(location) = location(frame) else { return one_line(&label(frame)) };
    if frame.is_python() {
        let name = one_line(frame.function.as_deref().unwrap_or_default());
        return format!("{location}  {name}");
    }
    let name = one_line(&label(frame));
    let width = location.chars().count() + 2;
    format!("{}  {location}", cut(&name, room.saturating_sub(width).max(LEAST_NAME)))
}

/// File and line, as far as they are known.
pub(crate) fn location(frame: &StackFrame) -> Option<String> {
    let file = one_line(&short(frame.file.as_deref()?));
    Some(frame.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}")))
}

/// A path by its last two components: `mod.rs` alone is ambiguous.
fn short(path: &str) -> String {
    let mut parts: Vec<&str> = path.rsplit('/').take(2).collect();
    parts.reverse();
    parts.join("/")
}
