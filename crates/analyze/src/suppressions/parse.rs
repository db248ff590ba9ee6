//! Reads files of suppressions. Entries that are not about leaks are skipped: they mean errors that are not searched for
//! here.

use std::collections::BTreeSet;

use heaplens_format::recording::LeakKind;
use thiserror::Error;

use super::glob::Glob;
use super::suppression::{Caller, FunctionPattern, Stack, Suppression};
use crate::symbols::demangle;

/// A line that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {why}")]
pub struct Unparsable {
    /// The line, from 1 on.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// Reads a file, in either syntax or both.
///
/// # Errors
/// When a line makes no sense.
pub fn parse(text: &str) -> Result<Vec<Suppression>, Unparsable> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let mut all = Vec::new();
    while let Some((number, line)) = lines.next() {
        if line == "{" {
            all.extend(entry(number, &mut lines)?);
        } else if let Some(pattern) = line.strip_prefix("leak:") {
            all.push(of_sanitizer(pattern));
        } else {
            return Err(wrong(number, format!("neither '{{' nor 'leak:PATTERN' but '{line}'")));
        }
    }
    Ok(all)
}

fn wrong(line: usize, why: impl Into<String>) -> Unparsable {
    Unparsable { line, why: why.into() }
}

fn of_sanitizer(pattern: &str) -> Suppression {
    Suppression {
        name: pattern.to_owned(),
        kinds: LeakKind::ALL.into(),
        error: None,
        stack: Stack::Anywhere(Glob::part(pattern)),
    }
}

/// Kinds of errors in system calls, whose entries have a line before the frames. Heaplens finds none of these.
const WITH_A_LINE_MORE: [&str; 1] = ["Param"];

/// From after `{` to `}`: a name, `Memcheck:Leak`, the kinds, the frames.
fn entry<'a>(
    start: usize,
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> Result<Option<Suppression>, Unparsable> {
    let rows: Vec<(usize, &str)> = lines.take_while(|(_, line)| *line != "}").collect();
    let [(_, name), (_, what), frames @ ..] = &rows[..] else {
        return Err(wrong(start, "an entry has a name, a kind and frames"));
    };
    let Some(kind) = kind_of_memcheck(what).filter(|kind| !WITH_A_LINE_MORE.contains(kind)) else {
        return Ok(None);
    };
    let error = (kind != "Leak").then(|| kind.to_owned());
    let mut kinds: BTreeSet<LeakKind> = if error.is_some() { BTreeSet::new() } else { LeakKind::ALL.into() };
    let mut callers = Vec::new();
    for &(number, line) in frames {
        match line.strip_prefix("match-leak-kinds:") {
            Some(words) => {
                kinds = kinds_of(words.trim())
                    .ok_or_else(|| wrong(number, format!("'{words}' is no kind of leak")))?
            }
            None => callers.push(caller(line).ok_or_else(|| wrong(number, format!("'{line}' is no frame")))?),
        }
    }
    Ok(Some(Suppression { name: (*name).to_owned(), kinds, error, stack: Stack::Callers(callers) }))
}

/// `Leak` of `Memcheck:Leak`, also of `Memcheck,Other:Leak`.
fn kind_of_memcheck(what: &str) -> Option<&str> {
    let (tools, kind) = what.split_once(':')?;
    tools.split(',').any(|tool| tool == "Memcheck").then_some(kind)
}

/// Kinds in Memcheck's words; `None` for a word that is none.
pub fn kinds_of(words: &str) -> Option<BTreeSet<LeakKind>> {
    let kind = |word: &str| match word.trim() {
        "definite" => Some(LeakKind::DefinitelyLost),
        "indirect" => Some(LeakKind::IndirectlyLost),
        "possible" => Some(LeakKind::PossiblyLost),
        "reachable" => Some(LeakKind::StillReachable),
        _ => None,
    };
    match words {
        "all" => Some(LeakKind::ALL.into()),
        "none" => Some(BTreeSet::new()),
        _ => words.split(',').map(kind).collect(),
    }
}

fn caller(line: &str) -> Option<Caller> {
    if line == "..." {
        return Some(Caller::Any);
    }
    let (kind, pattern) = line.split_once(':')?;
    match kind {
        "fun" => Some(Caller::Function(function(pattern))),
        "obj" => Some(Caller::Object(Glob::whole(pattern))),
        "src" => Some(source(pattern)),
        _ => None,
    }
}

/// Valgrind's files have C++ names as the linker sees them; frames here have them as people do.
fn function(pattern: &str) -> FunctionPattern {
    let is_mangled = pattern.starts_with("_Z") && !pattern.contains(['*', '?']);
    FunctionPattern {
        pattern: Glob::whole(pattern),
        readable: is_mangled.then(|| Glob::whole(&demangle(pattern))),
    }
}

fn source(pattern: &str) -> Caller {
    match pattern.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?))) {
        Some((file, line)) => Caller::Source(Glob::whole(file), Some(line)),
        None => Caller::Source(Glob::whole(pattern), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_other_tools_and_of_system_calls_are_skipped() {
        let text = "{\n a\n Helgrind:Race\n fun:f\n}\n{\n a\n Memcheck:Param\n write(buf)\n fun:f\n}\n{\n b\n Memcheck,Addrcheck:Leak\n fun:g\n}\n";
        let names: Vec<String> = parse(text).unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["b"]);
    }

    #[test]
    fn a_line_that_makes_no_sense_is_named() {
        let why = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(why("x\n"), "line 1: neither '{' nor 'leak:PATTERN' but 'x'");
        assert_eq!(why("\n{\n a\n}\n"), "line 2: an entry has a name, a kind and frames");
        assert_eq!(why("{\n a\n Memcheck:Leak\n func:f\n}"), "line 4: 'func:f' is no frame");
        assert!(why("{\n a\n Memcheck:Leak\n match-leak-kinds: lost\n}").contains("no kind of leak"));
    }

    #[test]
    fn names_of_the_linker_are_read_as_people_read_them() {
        assert_eq!(function("_ZN1a1bEv").readable, Some(Glob::whole("a::b")));
        assert_eq!(function("_ZN1a*").readable, None);
        assert_eq!(function("PyInit_*").readable, None);
    }
}
