//! The programs of `fast.txt` as tests: here a wrong verdict, holder or slope is a failure.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;

use super::options::{CorpusOptions, Part};
use super::programs::{self, CorpusProgram};
use super::schedule;
use super::scored_run::ScoredRun;
use super::setup::Setup;

/// The programs, with what they need to run.
#[derive(Debug)]
pub struct Quick {
    programs: Vec<CorpusProgram>,
    setup: Setup,
}

/// A program whose report was compared with its header.
#[derive(Debug)]
pub struct Checked {
    /// Its class and its file.
    pub name: String,
    /// What of the report fails the test, or why there is none.
    pub wrong: Vec<String>,
    /// How long it took.
    pub seconds: f64,
}

impl Quick {
    /// Sets up what they need.
    pub fn provide() -> Result<Self> {
        let options = CorpusOptions { part: Part::Fast, ..CorpusOptions::parse(&[])? };
        let mut programs = programs::chosen(programs::all()?, &options)?;
        // Those of several processes take longest: none of them is left alone at the end.
        programs.sort_by_key(|program| program.header.class != "processes");
        Ok(Self { setup: Setup::provide(&programs)?, programs })
    }

    /// Runs all of them under this command, so many at a time.
    pub fn check(&self, tool: PathBuf, jobs: usize) -> Result<Vec<Checked>> {
        let scored = ScoredRun::of(tool)?;
        let check = |program: &CorpusProgram| {
            let start = Instant::now();
            let score = scored.run(program, &self.setup);
            let wrong = score.map_or_else(|error| vec![format!("{error:#}")], |score| score.failures());
            Ok(Checked { name: program.name.clone(), wrong, seconds: start.elapsed().as_secs_f64() })
        };
        let checked = schedule::run(&self.programs, jobs, check);
        Ok(checked.done.into_iter().map(|(_, checked)| checked).collect())
    }
}
