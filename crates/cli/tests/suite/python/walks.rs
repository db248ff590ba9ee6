//! Python stacks by the million, on threads, coroutines, callbacks and code that dies: no frame on any of them that the
//! program cannot have. `cargo xtask soak frame-walks` asks for more of them, on every interpreter.
//!
//! Read from the recording itself, since the JSON report leaves the smallest of many sites out.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{SiteProfile, StackFrame};
use heaplens_format::recording::{SiteKind, decode};

use super::interpreters::{self, Interpreter};
use super::script;
use crate::harness::Heaplens;

const VARIABLE: &str = "HEAPLENS_PYTHON_WALKS";
const ORDINARY: u64 = 100_000;
const PROGRAM: &str = "python_walks.py";

/// What the program says about itself.
struct Truth {
    frames: HashSet<String>,
    /// How many events each stack had.
    stacks: BTreeMap<String, u64>,
    /// The innermost frames of those stacks: whoever stands on one has the whole stack in the truth.
    innermost: HashSet<String>,
}

impl Truth {
    fn parse(output: &str) -> Self {
        let said = |word: &'static str| output.lines().filter_map(move |line| line.strip_prefix(word));
        let frames = said("frame ").map(str::to_owned).collect();
        let numbered = said("stack ").filter_map(|line| line.split_once(' '));
        let stacks: BTreeMap<String, u64> =
            numbered.filter_map(|(count, stack)| Some((stack.to_owned(), count.parse().ok()?))).collect();
        let innermost =
            stacks.keys().filter_map(|stack| stack.split(';').next()).map(str::to_owned).collect();
        Self { frames, stacks, innermost }
    }
}

#[test]
fn no_stack_has_a_frame_that_the_program_cannot_have() {
    let asked = std::env::var(VARIABLE).ok();
    let walks =
        asked.as_ref().map_or(ORDINARY, |text| text.parse().expect("HEAPLENS_PYTHON_WALKS is a number"));
    let test = "python::walks::no_stack_has_a_frame_that_the_program_cannot_have";
    let pythons = if asked.is_some() { interpreters::all(test) } else { interpreters::some(test) };
    for python in pythons {
        let found = assert_true_frames(&python, walks);
        eprintln!(
            "soak: Python {} ({}): {found} walks, no bad frame",
            python.version,
            location(&python.path)
        );
    }
}

/// The end of a path: which build it is, not whose.
fn location(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts[parts.len().saturating_sub(3)..].join("/")
}

/// Runs the program, without the code of other people that `site` may start, and with all frames of its imports; how many walks found a stack that it
/// printed.
fn assert_true_frames(python: &Interpreter, walks: u64) -> u64 {
    let run = Heaplens::on(&python.path, &["-q", "--imports=full"])
        .arg("-S")
        .arg(script(PROGRAM))
        .arg(walks.to_string());
    let run = run.finish().expect_status(0);
    let truth = Truth::parse(&run.stdout());
    let made: u64 = truth.stacks.values().sum();
    assert!(made >= walks, "the program made {made} events of {walks}");
    let profile = profile_of(&run.recording());
    assert!(profile.losses.is_empty(), "Python {}: {:?}", python.version, profile.losses);
    let counted = counted(&profile);
    let bad: BTreeSet<String> = profile
        .sites
        .iter()
        .filter_map(|site| complaint(&profile, site, &truth))
        .chain(missing(&truth, &counted))
        .collect();
    let first: Vec<&str> = bad.iter().map(String::as_str).take(20).collect();
    assert!(bad.is_empty(), "Python {}, {} complaints:\n{}", python.version, bad.len(), first.join("\n"));
    truth.stacks.keys().filter_map(|stack| counted.get(stack)).sum()
}

fn profile_of(recording: &Path) -> Profile {
    let bytes = std::fs::read(recording).expect("the run left a recording");
    let decoded = decode(&bytes).expect("the recording is sound");
    heaplens_analyze::profile(&decoded, None).expect("the report is about some process")
}

/// What is wrong with a site's stack: a frame that no code of the program has, or frames that never stood together.
fn complaint(profile: &Profile, site: &SiteProfile, truth: &Truth) -> Option<String> {
    let mut python = profile.stack(site).filter(|frame| frame.is_python()).map(text);
    if let Some(stranger) = python.find(|frame| !truth.frames.contains(frame) && !is_gone(frame)) {
        return Some(format!("no such frame: {stranger}"));
    }
    let own = own_stack(profile, site);
    let is_printed = own.split(';').next().is_some_and(|frame| truth.innermost.contains(frame));
    (is_printed && !truth.stacks.contains_key(&own)).then(|| format!("no such stack: {own}"))
}

/// The code by which the interpreter finds itself (3.11 and later), Heaplens's probe, and what `dataclasses` writes and runs
/// once in modules that are imported (3.14): dropped before the program begins, which cannot report them.
fn is_gone(frame: &str) -> bool {
    ["<frozen getpath>:", "<heaplens>:", "<string>:__create_fn__:"].iter().any(|code| frame.starts_with(code))
}

/// Events that reached `malloc`, by their stacks: each is counted, and each is a walk. Small objects are a sample and not
/// counted here, though their stacks are checked.
fn counted(profile: &Profile) -> BTreeMap<String, u64> {
    let mut counted = BTreeMap::new();
    for site in profile.sites.iter().filter(|site| site.kind != SiteKind::PythonObject) {
        *counted.entry(own_stack(profile, site)).or_default() += site.allocated.blocks;
    }
    counted
}

/// Stacks whose events are not all there: they stand below another stack. The interpreter may make more than the program.
fn missing(truth: &Truth, counted: &BTreeMap<String, u64>) -> impl Iterator<Item = String> {
    truth.stacks.iter().filter_map(|(stack, &made)| {
        let found = counted.get(stack).copied().unwrap_or_default();
        (found < made).then(|| format!("{found} of {made} events: {stack}"))
    })
}

/// The frames of the program itself, as it writes them.
fn own_stack(profile: &Profile, site: &SiteProfile) -> String {
    profile.stack(site).filter(|frame| is_own(frame)).map(text).collect::<Vec<_>>().join(";")
}

fn is_own(frame: &StackFrame) -> bool {
    frame.is_python() && (file_name(frame) == PROGRAM || file_name(frame).starts_with("<born-"))
}

fn text(frame: &StackFrame) -> String {
    let function = frame.function.as_deref().unwrap_or("?");
    format!("{}:{function}:{}", file_name(frame), frame.line.unwrap_or_default())
}

fn file_name(frame: &StackFrame) -> &str {
    let path = frame.file.as_deref().unwrap_or("?");
    path.rsplit('/').next().unwrap_or(path)
}
