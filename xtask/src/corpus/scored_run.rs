//! Runs a program under Heaplens and scores its report. The reports stay below the build folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::launch::{Launch, Watch};
use super::programs::CorpusProgram;
use super::report::SaidReport;
use super::score::Score;
use super::setup::Setup;
use super::truth::{self, Truth, Truths};
use crate::workspace::target;

/// A run that takes longer is given up.
const LIMIT_S: u32 = 180;

/// What all runs have in common.
#[derive(Debug)]
pub struct ScoredRun {
    /// The command `heaplens`.
    tool: PathBuf,
    truths: Truths,
    /// Where the reports go.
    folder: PathBuf,
}

impl ScoredRun {
    /// Runs under this command.
    pub fn of(tool: PathBuf) -> Result<Self> {
        Ok(Self { tool, truths: truth::load()?, folder: reports()? })
    }

    /// Runs a program to its end.
    pub fn run(&self, program: &CorpusProgram, setup: &Setup) -> Result<Score> {
        let path = report_of(&self.folder, program);
        drop(std::fs::remove_file(&path));
        let command_line = under(&self.tool, &path, setup.command_line(program)?);
        let run = Launch { program, command_line, iterations: None, limit_s: LIMIT_S }.run(Watch::Nothing)?;
        shorten(&path)?;
        score(program, self.truths.get(&program.name), run.iterations, &path)
    }
}

/// The command line of a program under Heaplens.
fn under(tool: &Path, report: &Path, program: Vec<OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![tool.into(), "run".into(), "--quiet".into(), "--json".into()];
    words.extend([report.into(), "--output".into(), "recording.hlr".into(), "--".into()]);
    words.extend(program);
    words
}

/// Leaves out the sites of a report: they are nearly all of it, tens of megabytes for a framework, and no score needs them.
fn shorten(path: &Path) -> Result<()> {
    let mut report = read(path)?;
    if let Some(report) = report.as_object_mut() {
        report.remove("sites");
    }
    std::fs::write(path, report.to_string()).with_context(|| format!("cannot write {}", path.display()))
}

fn read(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).context("there is no report")?;
    serde_json::from_str(&text).context("the report is no JSON")
}

/// What a report is worth that is there.
pub fn score(program: &CorpusProgram, truth: Option<&Truth>, iterations: u64, path: &Path) -> Result<Score> {
    Ok(Score::of(program, truth, iterations, SaidReport::read(&read(path)?, program.file())))
}

/// Where reports stay, for those who want to see why a score is what it is.
pub fn reports() -> Result<PathBuf> {
    let folder = target().join("corpus/reports");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// The report of a program.
pub fn report_of(folder: &Path, program: &CorpusProgram) -> PathBuf {
    folder.join(program.flat_name()).with_extension("json")
}
