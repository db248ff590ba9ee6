//! Who holds what grows: programs that know it, and the reference path that the report names.

mod keys;
mod known;
mod native;
pub mod python;
mod tensorflow;

use std::path::Path;

use serde_json::Value;

use crate::harness::{Folder, Heaplens};

/// A script and the reference path to what it keeps.
struct Held {
    what: &'static str,
    /// The line that ends in `# here` allocates what is kept.
    script: &'static str,
    /// The first steps of the path.
    path: &'static [&'static str],
}

impl Held {
    /// Runs it and says what is wrong; `None`: nothing.
    fn wrong(&self, python: &Path, folder: &Folder) -> Option<String> {
        let path = folder.file("script.py");
        std::fs::write(&path, self.script).expect("the folder is writable");
        let line = self.script.lines().position(|line| line.ends_with("# here")).expect("a line is marked");
        let found = holder_of(python, &[path.to_str().expect("a plain path")], "script.py", 1 + line as u64);
        let is_right = found.as_ref().is_ok_and(|steps| {
            steps.iter().map(String::as_str).take(self.path.len()).eq(self.path.iter().copied())
        });
        (!is_right).then(|| format!("{} on {}: {found:?}", self.what, python.display()))
    }
}

/// What the report says of what grows at a line of a file.
fn report_of(command: &Path, words: &[&str], file: &str, line: u64) -> Result<Value, String> {
    let run = words.iter().fold(Heaplens::on(command, &["-q"]), |run, word| run.arg(word)).finish();
    let report = run.report();
    if run.output.status.code() != Some(0) {
        return Err(format!("it failed: {}", run.stderr()));
    }
    let findings = report.0["findings"].as_array().cloned().unwrap_or_default();
    // What TensorFlow's cache of scalars keeps beside it is a finding of its own.
    let is_here = |finding: &&Value| {
        let location = &finding["location"];
        finding["rule"] != "C35"
            && location["line"] == line
            && location["file"].as_str().is_some_and(|path| path.ends_with(file))
    };
    match findings.iter().find(is_here) {
        Some(found) => Ok(found.clone()),
        None => Err(format!("nothing is found at {file}:{line}, verdict {}", report.0["verdict"])),
    }
}

/// The reference path that the report names for what grows at a line of a file, numbers of elements left out.
fn holder_of(command: &Path, words: &[&str], file: &str, line: u64) -> Result<Vec<String>, String> {
    let found = report_of(command, words, file, line)?;
    match found["holder"]["path"].as_array() {
        Some(path) => Ok(path.iter().filter_map(|step| step.as_str().map(without_numbers)).collect()),
        None => Err("nobody is named".to_owned()),
    }
}

/// `[812] str` becomes `[*] str`, `work (file.py:12)` becomes `work (file.py:*)`.
fn without_numbers(step: &str) -> String {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match (step.strip_prefix('[').and_then(|rest| rest.split_once(']')), step.rsplit_once(':')) {
        (Some((index, class)), _) if digits(index) => format!("[*]{class}"),
        (_, Some((before, line))) if line.strip_suffix(')').is_some_and(digits) => format!("{before}:*)"),
        _ => step.to_owned(),
    }
}

/// Fails with all that is wrong.
fn none_wrong(wrong: &[String], of: usize) {
    assert!(wrong.is_empty(), "{} of {of} are wrong: {wrong:#?}", wrong.len());
}

#[test]
fn numbers_are_left_out() {
    assert_eq!(without_numbers("[812] str"), "[*] str");
    assert_eq!(without_numbers("['key'] str"), "['key'] str");
    assert_eq!(without_numbers("work (a.py:12)"), "work (a.py:*)");
    assert_eq!(without_numbers("std::map"), "std::map");
}
