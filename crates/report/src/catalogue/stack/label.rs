//! What a frame is called where there is room for one word: its function (a Python one with its line, since half of them
//! are called `<module>` or `__init__`), else module and offset, else the address.

use heaplens_analyze::profile::StackFrame;

/// The name of a frame.
pub(crate) fn label(frame: &StackFrame) -> String {
    if let (true, Some(file)) = (frame.is_python(), &frame.file) {
        return python(frame, file_name(file));
    }
    match (&frame.function, &frame.module) {
        (Some(function), _) => function.to_string(),
        (None, Some(module)) => format!("{}+0x{:x}", file_name(module), frame.offset),
        (None, None) => format!("0x{:x}", frame.offset),
    }
}

fn python(frame: &StackFrame, file: &str) -> String {
    let name = frame.function.as_deref().unwrap_or("?");
    match frame.line {
        Some(line) => format!("{name} ({file}:{line})"),
        None => format!("{name} ({file})"),
    }
}

/// The last component of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Stands for a stack without frames.
pub(crate) const NO_STACK: &str = "[no stack]";
/// Stands in exports for the frames that a truncated stack lacks; readers may know it by this name.
pub(crate) const CUT: &str = "[stack cut]";
/// The same on pages.
pub(crate) const TRUNCATED: &str = "[stack truncated]";
