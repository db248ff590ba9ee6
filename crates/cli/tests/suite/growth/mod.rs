//! What grows and what does not: programs that are written anew for each run, from a seed that is printed, and a fixed set
//! with labels. Each says itself what is true of it; the report must say the same, no more and no less.

mod dice;
mod ends;
mod garbage;
mod generated;
mod intervals;
mod labelled;
mod libraries;
mod limited;
mod limits;
mod mappings;
mod native;
mod plateau;
mod python;
mod quiet;
mod slowing;
mod threads;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

use crate::harness::{Finished, Heaplens, Report};
use crate::python::interpreters;

/// How far a slope may be from the truth.
const NEAR: f64 = 0.05;

/// The same per second: the pace of a program changes with what else the machine does.
const NEAR_BY_TIME: f64 = 0.2;

/// What is true of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Truth {
    /// It keeps so many bytes more with each iteration (or second), allocated at this line.
    Grows { bytes: f64, line: u64 },
    /// It keeps more with each iteration at this line; how much is not known to itself.
    Leaks { line: u64 },
    /// What grows at this line are cycles that a collection frees.
    Garbage { line: u64 },
    /// It does not grow, or stops.
    Bounded,
    /// The same; what it has lost when it ends is not known to us. (Perl loses 30 blocks, as Memcheck says, too.)
    Foreign,
}

/// A program that was written, and the words to run it with.
#[derive(Clone, Debug)]
pub struct Program {
    /// What it is, for messages.
    pub name: String,
    /// The command.
    pub command: PathBuf,
    /// Its words.
    pub words: Vec<String>,
    /// What is true of it.
    pub truth: Truth,
    /// The source file that the line is in.
    pub file: String,
    /// A step of the reference path to what it keeps, where that has a name.
    pub holder: Option<&'static str>,
}

impl Program {
    /// Runs it and says what is wrong with the report; `None`: nothing.
    pub fn trial(&self) -> Option<String> {
        let run = Heaplens::on(&self.command, &["-q"]);
        let run = self.words.iter().fold(run, |run, word| run.arg(word));
        let run = run.env("PYTHONDONTWRITEBYTECODE", "1").finish();
        let report = run.report();
        let wrong = self.wrong(&run, &report)?;
        let findings: Vec<Value> = report.0["findings"].as_array().into_iter().flatten().map(brief).collect();
        Some(format!("{}: {wrong}; verdict {}, findings {findings:?}", self.name, report.0["verdict"]))
    }

    fn wrong(&self, run: &Finished, report: &Report) -> Option<String> {
        if run.output.status.code() != Some(0) {
            return Some(format!("it failed: {}", run.stderr()));
        }
        let verdict = report.0["verdict"].as_str().unwrap_or("none");
        match self.truth {
            Truth::Garbage { .. } if verdict != "growth" => Some("not seen to be garbage".to_owned()),
            Truth::Garbage { line } => self.wrong_location(report, None, line),
            Truth::Bounded if ["clean", "plateau"].contains(&verdict) => None,
            Truth::Foreign if ["clean", "plateau", "lost"].contains(&verdict) => None,
            Truth::Bounded | Truth::Foreign => Some("a false alarm".to_owned()),
            Truth::Grows { .. } | Truth::Leaks { .. } if verdict != "leak" => Some("a miss".to_owned()),
            Truth::Leaks { line } => self.wrong_location(report, None, line),
            Truth::Grows { bytes, line } => match said(run) {
                Some(bytes) => self.wrong_location(report, Some((bytes, NEAR_BY_TIME)), line),
                None => self.wrong_location(report, Some((bytes, NEAR)), line),
            },
        }
    }

    /// The finding of the right line must have the right slope.
    fn wrong_location(&self, report: &Report, slope: Option<(f64, f64)>, line: u64) -> Option<String> {
        let findings = report.0["findings"].as_array()?;
        let is_here = |finding: &&Value| {
            let location = &finding["location"];
            location["line"] == line
                && location["file"].as_str().is_some_and(|file| file.ends_with(&self.file))
        };
        let Some(found) = findings.iter().find(is_here) else {
            return Some(format!("nothing is found at {}:{line}", self.file));
        };
        if let Some(wrong) = self.holder.and_then(|holder| wrong_holder(found, holder)) {
            return Some(wrong);
        }
        let (bytes, allowed) = slope?;
        let number = |field: &str| found[field].as_f64().unwrap_or(f64::NAN);
        let (slope, low, high) = (number("bytes_per_iteration"), number("low"), number("high"));
        // What was sampled is known to its bounds only.
        let is_sampled = high - low > 2.0 * allowed * bytes && found["layer"] == "python";
        let near = (slope / bytes - 1.0).abs() <= allowed || (is_sampled && low <= bytes && bytes <= high);
        (!near).then(|| format!("the slope is {slope:.0} ({low:.0} to {high:.0}) where {bytes:.0} is true"))
    }
}

/// The reference path to what a finding is about must have this step.
fn wrong_holder(finding: &Value, holder: &str) -> Option<String> {
    let path = finding["holder"]["path"].as_array().cloned().unwrap_or_default();
    (!path.iter().any(|step| step == holder)).then(|| format!("{holder} holds it, and {path:?} is said"))
}

/// `truth BYTES`: what the program measured of itself, where only it can know.
fn said(run: &Finished) -> Option<f64> {
    run.stdout().lines().find_map(|line| line.strip_prefix("truth ")?.parse().ok())
}

fn brief(finding: &Value) -> Value {
    let field = |name: &str| finding[name].clone();
    serde_json::json!([
        field("rule"),
        field("bytes_per_iteration"),
        field("layer"),
        finding["location"]["line"]
    ])
}

/// Tries all of them and fails with what was wrong.
pub fn try_all(programs: &[Program], seed: Option<u64>) {
    let wrong: Vec<String> = programs.iter().filter_map(Program::trial).collect();
    let again = seed.map_or_else(String::new, |seed| format!(" (again with HEAPLENS_SEED={seed})"));
    assert!(wrong.is_empty(), "{} of {} are wrong{again}: {wrong:#?}", wrong.len(), programs.len());
}

/// The interpreter that most users call; the generated programs run on others, too.
pub fn python() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| interpreters::all("growth").swap_remove(0).path)
}

/// Writes a source file.
pub fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("the folder is writable");
}
