//! What a program says of its errors, and what a report says of them, in one form.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::harness::{Folder, Heaplens, Report};

/// An error with the lines that it is about; 0 where there is none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownError {
    pub kind: String,
    pub count: u64,
    pub bytes: u64,
    pub line: u64,
    pub allocated: u64,
    pub freed: u64,
    pub what: String,
}

/// `error KIND COUNT BYTES LINE ALLOCATED FREED WORDS`, as programs say it, sorted.
pub fn told(stdout: &[u8]) -> Vec<KnownError> {
    let mut errors: Vec<KnownError> = String::from_utf8_lossy(stdout).lines().filter_map(told_in).collect();
    errors.sort();
    errors
}

fn told_in(line: &str) -> Option<KnownError> {
    let mut words = line.strip_prefix("error ")?.splitn(7, ' ');
    let mut word = || words.next().expect("seven words");
    let kind = word().to_owned();
    let mut number = || word().parse::<u64>().expect("a number");
    let [count, bytes, line, allocated, freed] = std::array::from_fn(|_| number());
    Some(KnownError { kind, count, bytes, line, allocated, freed, what: word().to_owned() })
}

/// The errors of a report, by the lines of one source, sorted.
pub fn reported(report: &Value, source: &str) -> Vec<KnownError> {
    let errors = report["errors"].as_array().expect("a list of errors").iter();
    let mut errors: Vec<KnownError> = errors.map(|error| of_report(error, source)).collect();
    errors.sort();
    errors
}

fn of_report(error: &Value, source: &str) -> KnownError {
    let line_of = |stack: &Value| {
        let frames = stack.as_array().expect("a stack");
        let is_own = |frame: &&Value| frame["file"].as_str().is_some_and(|file| file.ends_with(source));
        frames.iter().find(is_own).map_or(0, |frame| frame["line"].as_u64().expect("a line"))
    };
    let number = |key: &str| error[key].as_u64().expect("a number");
    let text = |key: &str| error[key].as_str().expect("a text").to_owned();
    KnownError {
        kind: text("kind"),
        count: number("count"),
        bytes: number("bytes"),
        line: line_of(&error["stack"]),
        allocated: line_of(&error["allocated"]),
        freed: line_of(&error["freed"]),
        what: text("what"),
    }
}

/// The status as a shell reports it.
pub fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| 128 + output.status.signal().expect("it ended"))
}

/// A run of `heaplens memcheck`.
pub struct Checked {
    pub output: Output,
    pub report: Value,
}

impl Checked {
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}

/// Runs a program under `heaplens memcheck` with these options.
pub fn checked(options: &[&str], program: &Path, words: &[&str]) -> Checked {
    checked_with(None, options, program, words)
}

/// The same with a library that is preloaded.
pub fn checked_with(preload: Option<&Path>, options: &[&str], program: &Path, words: &[&str]) -> Checked {
    let folder = Folder::new();
    let json = folder.file("errors.json");
    let mut command = Heaplens::bare(["memcheck", "--json"]);
    if let Some(library) = preload {
        command.env("LD_PRELOAD", library);
    }
    let output = command.arg(&json).args(options).arg(program).args(words).output().expect("heaplens starts");
    let bytes = std::fs::read(json)
        .unwrap_or_else(|error| panic!("no report: {error}\n{}", String::from_utf8_lossy(&output.stderr)));
    Checked { report: Report::parse(&bytes).whole(), output }
}
