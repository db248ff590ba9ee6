//! A stack folded to what helps: the allocator's own functions and the standard library at the inner end and the
//! runtime at the outer end say nothing about the program; of a deep stack the nearest callers and the outermost one
//! are kept.

use heaplens_analyze::profile::{StackFrame, is_library};

use super::label::file_name;

/// How many frames of a folded stack are shown for the top sites.
pub(crate) const SHOWN: usize = 5;
/// And for the others.
pub(crate) const SHOWN_BRIEFLY: usize = 3;

/// What runs before `main` or a thread's function.
const RUNTIME: &[&str] =
    &["_start", "clone", "clone3", "__clone", "__clone3", "start_thread", "execute_native_thread_routine"];
/// How names of such code begin in the libraries.
const RUNTIME_PREFIXES: &[&str] = &[
    "__libc_start",
    "std::rt::",
    "std::sys::",
    "std::thread::",
    "std::panic",
    "std::__invoke",
    "std::invoke",
    "__rust_begin_short_backtrace",
    "__rust_try",
    "<alloc::boxed::Box",
    "core::ops::function::",
];
/// Object files whose unnamed outermost frames are the runtime's.
const RUNTIME_MODULES: &[&str] = &["libc.so", "libc-", "ld-linux", "libpthread"];

/// A folded stack, innermost first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Folded<'a> {
    /// The frames to show; never empty unless the stack is.
    pub(crate) frames: Vec<&'a StackFrame>,
    /// Frames left out before the last one shown.
    pub(crate) hidden: usize,
}

/// Folds a stack to at most so many frames.
pub(crate) fn fold<'a>(stack: &[&'a StackFrame], shown: usize) -> Folded<'a> {
    let outer = stack.iter().rposition(|frame| !is_runtime(frame)).map_or(stack.len(), |last| last + 1);
    let inner = stack[..outer].iter().position(|frame| !is_library(frame)).unwrap_or(0);
    shorten(&stack[inner..outer], shown)
}

fn shorten<'a>(stack: &[&'a StackFrame], shown: usize) -> Folded<'a> {
    if stack.len() <= shown {
        return Folded { frames: stack.to_vec(), hidden: 0 };
    }
    let mut frames = stack[..shown - 1].to_vec();
    frames.extend(stack.last());
    Folded { frames, hidden: stack.len() - shown }
}

pub(crate) fn is_runtime(frame: &StackFrame) -> bool {
    match &frame.function {
        Some(name) => RUNTIME.contains(&&**name) || begins(name, RUNTIME_PREFIXES),
        None => is_in_runtime(frame),
    }
}

/// Whether the object file is the runtime's.
pub(crate) fn is_in_runtime(frame: &StackFrame) -> bool {
    frame.module.as_deref().is_some_and(|module| begins(file_name(module), RUNTIME_MODULES))
}

fn begins(name: &str, with: &[&str]) -> bool {
    with.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_analyze::profile::Origin;

    fn frames(names: &[&str]) -> Vec<StackFrame> {
        let frame = |name: &&str| StackFrame {
            origin: Origin::Native,
            function: Some((*name).into()),
            file: None,
            line: None,
            module: Some("/opt/app".into()),
            offset: 0,
        };
        names.iter().map(frame).collect()
    }

    fn folded(names: &[&str]) -> (Vec<String>, usize) {
        let frames = frames(names);
        let folded = fold(&frames.iter().collect::<Vec<_>>(), SHOWN);
        (
            folded.frames.iter().map(|frame| frame.function.as_deref().unwrap().to_owned()).collect(),
            folded.hidden,
        )
    }

    fn kept(names: &[&str]) -> Vec<String> {
        folded(names).0
    }

    #[test]
    fn allocator_and_library_frames_are_folded_away() {
        let stack =
            ["operator new", "std::vector<int>::reserve", "fill", "main", "__libc_start_main", "_start"];
        assert_eq!(kept(&stack), ["fill", "main"]);
    }

    #[test]
    fn library_frames_between_own_ones_stay() {
        assert_eq!(kept(&["less", "std::sort", "main"]), ["less", "std::sort", "main"]);
    }

    #[test]
    fn a_stack_of_library_frames_alone_is_shown_as_it_is() {
        assert_eq!(kept(&["operator new", "std::locale::locale"]), ["operator new", "std::locale::locale"]);
    }

    #[test]
    fn a_stack_of_runtime_frames_alone_is_shown_as_it_is() {
        assert_eq!(kept(&["start_thread", "clone3"]), ["start_thread", "clone3"]);
    }

    #[test]
    fn of_a_deep_stack_the_nearest_callers_and_the_outermost_stay() {
        let (names, hidden) = folded(&["malloc", "a", "b", "c", "d", "e", "f", "main", "_start"]);
        assert_eq!((names, hidden), (["a", "b", "c", "d", "main"].map(str::to_owned).to_vec(), 2));
    }

    #[test]
    fn a_name_that_only_begins_like_the_runtime_stays() {
        assert_eq!(kept(&["malloc", "copy", "clone_rows", "start_thread"]), ["copy", "clone_rows"]);
    }

    #[test]
    fn an_empty_stack_stays_empty() {
        assert_eq!(folded(&[]), (vec![], 0));
    }
}
