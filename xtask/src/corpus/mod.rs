//! `cargo xtask corpus`: how often Heaplens is right on the labelled programs of `tests/corpus`, and, with `--truth`, what they do without
//! it. A wrong report is a number in the table and never a failure; a program that could not be run is one.
//!
//! ```text
//!   header ─┬─▶ truth   run without Heaplens ─▶ truth.json, contradictions
//!           └─▶ score   run under Heaplens, report ─▶ table, wrong pages, target/corpus/results.json
//! ```

mod header;
mod launch;
mod memory;
mod options;
mod programs;
mod reap;
mod report;
mod schedule;
mod score;
mod setup;
mod table;
mod truth;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::workspace::{commit, heaplens, target};
use launch::{Launch, Watch};
use options::{CorpusOptions, Task};
use programs::CorpusProgram;
use report::SaidReport;
use schedule::CorpusRuns;
use score::Score;
use setup::Setup;
use truth::Truth;

/// A run under Heaplens that takes longer is given up.
const LIMIT_S: u32 = 180;

/// Runs what the options ask for.
pub fn run(words: &[&str]) -> Result<ExitCode> {
    let options = CorpusOptions::parse(words)?;
    let programs = programs::chosen(programs::all()?, &options)?;
    let not_run = match options.task {
        Task::Truth => measure(&programs, &options)?,
        Task::Score => compare(&programs, &options)?,
        Task::Rescore => rescore(&programs)?,
    };
    for (name, reason) in &not_run {
        println!("could not be run: {name}: {reason}");
    }
    Ok(if not_run.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Names of programs, and why they could not be run.
type NotRun = Vec<(String, String)>;

/// Measures the truth, keeps it after each program, and lists headers that say otherwise.
fn measure(programs: &[CorpusProgram], options: &CorpusOptions) -> Result<NotRun> {
    let (setup, kept) = (Setup::provide(programs)?, Mutex::new(truth::load()?));
    let outcomes = schedule::run(programs, options.jobs, |program| {
        let truth = Truth::measure(program, &setup)?;
        let mut kept = kept.lock().expect("no worker panics with it");
        kept.insert(program.name.clone(), truth.clone());
        truth::save(&kept)?;
        Ok(truth)
    });
    for (program, truth) in &outcomes.done {
        if let Some(contradiction) = truth.contradiction(&program.header) {
            println!("{}: {contradiction}", program.name);
        }
    }
    Ok(outcomes.not_run)
}

/// Runs programs under Heaplens and prints their scores.
fn compare(programs: &[CorpusProgram], options: &CorpusOptions) -> Result<NotRun> {
    let setup = Setup::provide(programs)?;
    let tool = match &options.heaplens {
        Some(path) => path.canonicalize().with_context(|| format!("no {}", path.display()))?,
        None => heaplens()?,
    };
    let (truths, folder) = (truth::load()?, reports()?);
    let outcomes = schedule::run(programs, options.jobs, |program| {
        let path = report_of(&folder, program);
        drop(std::fs::remove_file(&path));
        let command_line = under(&tool, &path, setup.command_line(program)?);
        let run = Launch { program, command_line, iterations: None, limit_s: LIMIT_S }.run(Watch::Nothing)?;
        shorten(&path)?;
        score(program, truths.get(&program.name), run.iterations, &path)
    });
    print(outcomes)
}

/// Scores the reports that are there.
fn rescore(programs: &[CorpusProgram]) -> Result<NotRun> {
    let (truths, folder) = (truth::load()?, reports()?);
    let outcomes = schedule::run(programs, 1, |program| {
        let truth = truths.get(&program.name).context("its truth is not measured")?;
        score(program, Some(truth), truth.iterations, &report_of(&folder, program))
    });
    print(outcomes)
}

/// Prints and keeps scores.
fn print(outcomes: CorpusRuns<'_, Score>) -> Result<NotRun> {
    let scores: Vec<Score> = outcomes.done.into_iter().map(|(_, score)| score).collect();
    println!("at {}\n\n{}", commit()?, table::table(&scores));
    println!("{}", table::wrong(&scores));
    keep(&scores)?;
    Ok(outcomes.not_run)
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

fn score(program: &CorpusProgram, truth: Option<&Truth>, iterations: u64, path: &Path) -> Result<Score> {
    Ok(Score::of(program, truth, iterations, SaidReport::read(&read(path)?, program.file())))
}

/// Where reports stay, for those who want to see why a score is what it is.
fn reports() -> Result<PathBuf> {
    let folder = target().join("corpus/reports");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

fn report_of(folder: &Path, program: &CorpusProgram) -> PathBuf {
    folder.join(program.flat_name()).with_extension("json")
}

/// Writes all scores for scripts.
fn keep(scores: &[Score]) -> Result<()> {
    let path = target().join("corpus/results.json");
    let values: Vec<Value> = scores.iter().map(Score::to_json).collect();
    let text = serde_json::to_string_pretty(&values)?;
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    println!("details: {}", path.display());
    Ok(())
}
