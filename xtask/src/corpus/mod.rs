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
mod quick;
mod reap;
mod report;
mod schedule;
mod score;
mod scored_run;
mod setup;
mod table;
mod truth;

use std::process::ExitCode;
use std::sync::Mutex;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::workspace::{commit, heaplens, target};
use options::{CorpusOptions, Task};
use programs::CorpusProgram;
pub use quick::{Checked, Quick};
use schedule::CorpusRuns;
use score::Score;
use scored_run::ScoredRun;
use setup::Setup;
use truth::Truth;

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
    let (scored, setup) = (ScoredRun::of(tool)?, &setup);
    print(schedule::run(programs, options.jobs, |program| scored.run(program, setup)))
}

/// Scores the reports that are there.
fn rescore(programs: &[CorpusProgram]) -> Result<NotRun> {
    let (truths, folder) = (truth::load()?, scored_run::reports()?);
    print(schedule::run(programs, 1, |program| {
        let truth = truths.get(&program.name).context("its truth is not measured")?;
        scored_run::score(program, Some(truth), truth.iterations, &scored_run::report_of(&folder, program))
    }))
}

/// Prints and keeps scores.
fn print(outcomes: CorpusRuns<'_, Score>) -> Result<NotRun> {
    let scores: Vec<Score> = outcomes.done.into_iter().map(|(_, score)| score).collect();
    println!("at {}\n\n{}", commit()?, table::table(&scores));
    println!("{}", table::wrong(&scores));
    keep(&scores)?;
    Ok(outcomes.not_run)
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
