//! A stack with Python frames, folded around the line that it is named by: inside it, which packages the allocation
//! went through; outside it, the user's own lines, with the frames of one package as one line. The interpreter's own
//! code, allocators and what runs before a program are left out.

use heaplens_analyze::profile::{Origin, StackFrame, is_interpreter, is_library};
use heaplens_format::python_file::PROBE_FILE;

use super::fold::{is_in_runtime, is_runtime};
use super::label::{file_name, label};
use crate::catalogue::wording::plural;

/// Packages that are named between the line and the allocation.
const THROUGH: usize = 3;
/// Runs modules for `python -m`; says nothing at the outer end.
const STARTER: &str = "runpy";

/// One line of a folded stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FoldedLine<'a> {
    Frame(&'a StackFrame),
    Words(String),
}

/// Frames of one package that stand together, or one frame of the user's.
struct Run<'a> {
    first: &'a StackFrame,
    package: Option<&'a str>,
    frames: usize,
}

/// The lines of a stack, beginning with the one it is named by; `shown` counts that one and those outside it.
pub(crate) fn fold<'a>(
    stack: &[&'a StackFrame],
    named_by: &'a StackFrame,
    shown: usize,
) -> Vec<FoldedLine<'a>> {
    // The same line may stand in a stack many times: the innermost counts.
    let at = stack.iter().position(|frame| std::ptr::eq(*frame, named_by)).unwrap_or(0);
    let outside = stack.get(at + 1..).unwrap_or_default();
    let mut lines = vec![FoldedLine::Frame(named_by)];
    lines.extend(through(&runs(stack[..at].iter().rev().copied())).map(FoldedLine::Words));
    lines.extend(callers(runs(outside.iter().copied()), shown.saturating_sub(1)));
    lines
}

/// `through keras (7 frames) → numpy → _multiarray_umath (5 frames)`.
fn through(runs: &[Run<'_>]) -> Option<String> {
    let (last, before) = runs.split_last()?;
    let mut words: Vec<String> = before.iter().take(THROUGH - 1).map(Run::words).collect();
    if before.len() >= THROUGH {
        words.push("…".to_owned());
    }
    words.push(last.words());
    Some(format!("through {}", words.join(" → ")))
}

fn callers(mut runs: Vec<Run<'_>>, shown: usize) -> Vec<FoldedLine<'_>> {
    runs.pop_if(|run| run.package == Some(STARTER));
    if runs.len() <= shown {
        return runs.iter().map(Run::line).collect();
    }
    let kept = shown.saturating_sub(1);
    let hidden: usize = runs[kept..runs.len() - 1].iter().map(|run| run.frames).sum();
    let mut lines: Vec<_> = runs[..kept].iter().map(Run::line).collect();
    lines.push(FoldedLine::Words(format!("… {hidden} more {}", plural(hidden as u64, "frame"))));
    lines.extend(runs.last().map(Run::line));
    lines
}

fn runs<'a>(frames: impl Iterator<Item = &'a StackFrame>) -> Vec<Run<'a>> {
    let mut runs: Vec<Run<'a>> = Vec::new();
    for frame in frames.filter(|frame| !is_machinery(frame)) {
        let package = package(frame);
        match runs.last_mut() {
            Some(run) if package.is_some() && run.package == package => run.frames += 1,
            _ => runs.push(Run { first: frame, package, frames: 1 }),
        }
    }
    runs
}

impl<'a> Run<'a> {
    fn line(&self) -> FoldedLine<'a> {
        match self.package {
            Some(package) if self.frames > 1 => {
                FoldedLine::Words(format!("… {} frames in {package}", self.frames))
            }
            _ => FoldedLine::Frame(self.first),
        }
    }

    fn words(&self) -> String {
        match self.package {
            Some(package) if self.frames > 1 => format!("{package} ({} frames)", self.frames),
            Some(package) => package.to_owned(),
            None => label(self.first),
        }
    }
}

/// Whose frame it is; `None` for the user's own. Native code with lines was compiled by the user.
fn package(frame: &StackFrame) -> Option<&str> {
    match &frame.origin {
        Origin::User | Origin::Generated => None,
        Origin::Library(package) | Origin::Imported(package) => Some(package),
        Origin::Import => Some("importlib"),
        Origin::Native if frame.file.is_some() => None,
        Origin::Native => Some(frame.module.as_deref().map_or("unknown code", library_name)),
    }
}

/// `_core` of `_core.cpython-311-x86_64-linux-gnu.so`; other libraries by their file.
fn library_name(path: &str) -> &str {
    let name = file_name(path);
    let extension = name.split_once(".cpython-").or_else(|| name.split_once(".abi3."));
    extension.map_or(name, |(name, _)| name).trim_end_matches(".so")
}

/// Whether a frame is the interpreter's own, or what is below and above every program.
pub(crate) fn is_machinery(frame: &StackFrame) -> bool {
    let probe = || frame.file.as_deref().map(str::as_bytes) == Some(PROBE_FILE.to_bytes());
    !frame.is_python()
        && (is_library(frame)
            || is_runtime(frame)
            || is_in_runtime(frame)
            || is_interpreter(frame)
            || probe())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames by words: `train.py:3` the user's, `keras:` a package, `/lib/x.so` native.
    fn frames(words: &[&str]) -> Vec<StackFrame> {
        words.iter().map(|word| frame(word)).collect()
    }

    fn frame(word: &str) -> StackFrame {
        let native = word.starts_with('/');
        let origin = match word.strip_suffix(':') {
            _ if native => Origin::Native,
            Some(package) => Origin::Library(package.into()),
            None => Origin::User,
        };
        StackFrame {
            origin,
            function: None,
            file: (!native).then(|| word.into()),
            line: None,
            module: native.then(|| word.into()),
            offset: 0,
        }
    }

    fn folded(words: &[&str], named_by: usize, shown: usize) -> Vec<String> {
        let frames = frames(words);
        let stack: Vec<&StackFrame> = frames.iter().collect();
        let lines = fold(&stack, stack[named_by], shown);
        let text = |line| match line {
            FoldedLine::Frame(frame) => frame.file.as_deref().or(frame.module.as_deref()).unwrap().to_owned(),
            FoldedLine::Words(words) => words,
        };
        lines.into_iter().map(text).collect()
    }

    #[test]
    fn what_lies_inside_the_line_is_named_by_its_packages() {
        let core = "/v/_core.cpython-311-x86_64-linux-gnu.so";
        let stack = ["/usr/lib/libc.so.6", core, core, "numpy:", "keras:", "keras:", "a.py"];
        let expected = ["a.py", "through keras (2 frames) → numpy → _core (2 frames)"];
        assert_eq!(folded(&stack, 6, 5), expected);
    }

    #[test]
    fn of_many_packages_inside_the_line_the_nearest_and_the_innermost_are_named() {
        let words = &folded(&["e:", "d:", "c:", "b:", "a:", "a.py"], 5, 5)[1];
        assert_eq!(words, "through a → b → … → e");
    }

    #[test]
    fn frames_of_one_package_outside_the_line_are_one_line() {
        let stack = ["a.py", "keras:", "keras:", "keras:", "b.py", "six:", "c.py"];
        assert_eq!(folded(&stack, 0, 5), ["a.py", "… 3 frames in keras", "b.py", "six:", "c.py"]);
    }

    #[test]
    fn the_interpreter_and_what_starts_a_module_are_left_out() {
        let stack = ["/usr/bin/python3.11", "a.py", "/v/libpython3.8.so.1.0", "b.py", "runpy:", "runpy:"];
        let stack = [&stack[..], &["/usr/bin/python3.11"]].concat();
        assert_eq!(folded(&stack, 1, 5), ["a.py", "b.py"]);
    }

    #[test]
    fn of_many_callers_the_nearest_and_the_outermost_stay() {
        let stack = ["a.py", "b.py", "c.py", "k:", "k:", "d.py", "e.py"];
        assert_eq!(folded(&stack, 0, 4), ["a.py", "b.py", "c.py", "… 3 more frames", "e.py"]);
    }

    #[test]
    fn a_line_that_calls_itself_is_named_where_it_is_innermost() {
        let frames = frames(&["numpy:", "a.py"]);
        let stack = [&frames[0], &frames[1], &frames[1], &frames[1]];
        let lines = fold(&stack, &frames[1], 5);
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert_eq!(lines[1], FoldedLine::Words("through numpy".to_owned()));
    }
}
