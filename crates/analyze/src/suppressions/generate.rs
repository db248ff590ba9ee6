//! A suppression for a leak or an error that was found, in Valgrind's syntax, for both tools: as many frames as both have, spelled as both
//! read them.

use std::fmt;

use heaplens_format::recording::LeakKind;

use super::valgrind_names::Called;
use crate::profile::AnalysedError;

/// What Valgrind calls a suppression that nobody has named yet.
pub const UNNAMED: &str = "insert_a_suppression_name_here";
/// More lines are an error to Valgrind (its VG_MAX_SUPP_CALLERS).
const MOST_FRAMES: usize = 24;
/// The outermost functions that both tools show.
const OUTERMOST: [&str; 2] = ["main", "start_thread"];
/// Functions that Valgrind does not show, or has others for.
const BELOW: [&str; 7] = [
    "__libc_start_call_main",
    "__libc_start_main",
    "__libc_start_main_impl",
    "_start",
    "clone",
    "clone3",
    "__clone3",
];

/// A suppression for the leaks of one kind that one stack allocated, or for the errors of one kind at one stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// What it is for, in Memcheck's word: `Leak`, `Free`, `Addr4` …
    pub what: String,
    /// The kind of leak; `None` for an error.
    pub kind: Option<&'static str>,
    /// Its lines: `fun:…`, `obj:…` or `...`.
    pub frames: Vec<String>,
}

impl Generated {
    /// For a stack, of which Valgrind shows so many callers.
    pub fn new(kind: LeakKind, stack: &[Called<'_>], callers: usize) -> Self {
        Self { what: "Leak".to_owned(), kind: Some(word(kind)), frames: frames(true, stack, callers) }
    }

    /// For an error, whose stack this is.
    pub fn of_error(error: &AnalysedError, stack: &[Called<'_>], callers: usize) -> Self {
        let frames = frames(error.is_of_call(), stack, callers);
        Self { what: error.suppression_kind(), kind: None, frames }
    }
}

/// The lines of frames.
fn frames(is_of_call: bool, stack: &[Called<'_>], callers: usize) -> Vec<String> {
    // The function itself: our stacks begin with its caller.
    let mut frames = if is_of_call { vec!["fun:*".to_owned()] } else { Vec::new() };
    for called in known_to_both(stack) {
        let line = line(called);
        if !(line == "..." && frames.last().is_some_and(|last| *last == line)) {
            frames.push(line);
        }
    }
    frames.truncate(callers.clamp(2, MOST_FRAMES));
    while frames.last().is_some_and(|last| last == "...") {
        frames.pop();
    }
    frames
}

impl fmt::Display for Generated {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{{\n   <{UNNAMED}>\n   Memcheck:{}", self.what)?;
        if let Some(kind) = self.kind {
            writeln!(out, "   match-leak-kinds: {kind}")?;
        }
        self.frames.iter().try_for_each(|frame| writeln!(out, "   {frame}"))?;
        writeln!(out, "}}")
    }
}

fn word(kind: LeakKind) -> &'static str {
    match kind {
        LeakKind::DefinitelyLost => "definite",
        LeakKind::IndirectlyLost => "indirect",
        LeakKind::PossiblyLost => "possible",
        LeakKind::StillReachable => "reachable",
    }
}

/// The frames from the innermost to `main`.
fn known_to_both<'a, 'b>(stack: &'a [Called<'b>]) -> &'a [Called<'b>] {
    let is =
        |called: &Called<'_>, names: &[&str]| called.name.as_deref().is_some_and(|it| names.contains(&it));
    let below = stack.iter().position(|called| is(called, &BELOW)).unwrap_or(stack.len());
    let end = stack[..below].iter().position(|called| is(called, &OUTERMOST)).map_or(below, |at| at + 1);
    &stack[..end]
}

fn line(called: &Called<'_>) -> String {
    let frame = called.frame;
    match (&called.name, frame.function.as_deref(), frame.module.as_deref()) {
        // Valgrind has frames of the interpreter here, of which it does not matter how many.
        _ if frame.is_python() => "...".to_owned(),
        (Some(name), _, _) => format!("fun:{}", spelled(name, called.aliases)),
        (None, _, Some(module)) => format!("obj:{}", called.object.unwrap_or(module)),
        (None, Some(function), None) => format!("fun:{function}"),
        (None, None, None) => "obj:*".to_owned(),
    }
}

/// Arguments of templates are spelled by each reader of debug information in its own way, and versions of symbols by some.
fn spelled(name: &str, aliases: &[String]) -> String {
    let is_plain = name.starts_with("_Z") || name.starts_with("operator");
    let is_versioned = |alias: &String| alias.strip_prefix(name).is_some_and(|rest| rest.starts_with('@'));
    let versioned = || aliases.iter().any(is_versioned).then_some(name.len());
    let end = if is_plain { None } else { name.find(['<', '@']).or_else(versioned) };
    end.map_or_else(|| name.to_owned(), |end| format!("{}*", &name[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Origin, StackFrame};

    fn frame(function: Option<&str>, module: Option<&str>, origin: Origin) -> StackFrame {
        StackFrame {
            origin,
            function: function.map(Into::into),
            file: None,
            line: None,
            module: module.map(Into::into),
            offset: 0,
        }
    }

    fn native(name: &str) -> StackFrame {
        frame(Some(name), Some("/bin/x"), Origin::Native)
    }

    fn frames(stack: &[(StackFrame, Option<&str>)], callers: usize) -> Vec<String> {
        let called: Vec<Called<'_>> = stack
            .iter()
            .map(|(frame, name)| Called { frame, name: name.map(Into::into), aliases: &[], object: None })
            .collect();
        Generated::new(LeakKind::DefinitelyLost, &called, callers).frames
    }

    #[test]
    fn a_block_has_the_frames_from_the_allocating_function_to_main() {
        let stack = [
            (native("ns::f"), Some("_ZN2ns1fEv")),
            (native("max<int>"), Some("max<int>")),
            (frame(None, Some("/lib/x.so"), Origin::Native), None),
            (native("main"), Some("main")),
            (native("__libc_start_call_main"), Some("__libc_start_call_main")),
        ];
        let expected = ["fun:*", "fun:_ZN2ns1fEv", "fun:max*", "obj:/lib/x.so", "fun:main"];
        assert_eq!(frames(&stack, 12), expected);
        assert_eq!(frames(&stack, 3), expected[..3]);
        assert_eq!(frames(&stack[3..], 12), ["fun:*", "fun:main"]);
    }

    #[test]
    fn frames_of_python_stand_for_those_of_its_interpreter() {
        let python = || (frame(Some("step"), None, Origin::User), None);
        let call = || (native("call"), Some("call"));
        let stack = [call(), python(), python(), call(), python(), (native("_start"), Some("_start"))];
        assert_eq!(frames(&stack, 12), ["fun:*", "fun:call", "...", "fun:call"]);
    }

    #[test]
    fn a_block_is_what_valgrind_would_print() {
        let stack = native("main");
        let called = [Called { frame: &stack, name: Some("main".into()), aliases: &[], object: None }];
        let block = Generated::new(LeakKind::PossiblyLost, &called, 12).to_string();
        let expected = "{\n   <insert_a_suppression_name_here>\n   Memcheck:Leak\n   match-leak-kinds: possible\n   fun:*\n   fun:main\n}\n";
        assert_eq!(block, expected);
    }
}
