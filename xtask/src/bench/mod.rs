//! `cargo xtask bench`: what Heaplens and its peers cost the program that they watch. Every program measures itself (see
//! bench/measure.h); runs of all tools are interleaved, and of each number the minimum counts. It judges the targets, and
//! never fails because one is missed.

mod columns;
mod family;
mod measure;
mod options;
mod python;
mod rows;
mod sections;
mod targets;
mod text;
mod tool;

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::packages::{self, FOR_BENCHMARKS};
use crate::workspace::{compile, heaplens, target};
use measure::Results;
use options::{BenchOptions, Keep};
use rows::{BenchProgram, Row};
use sections::is_section;
use tool::Paths;

/// Measures what was asked for, prints, keeps.
pub fn run(words: &[&str]) -> Result<()> {
    let options = BenchOptions::parse(words)?;
    sections::check(&options)?;
    let named: Vec<String> = options.only.iter().filter(|word| !is_section(word)).cloned().collect();
    let rows = rows::chosen(&named)?;
    packages::provide(FOR_BENCHMARKS);
    if options.only.is_empty() || !named.is_empty() {
        compare(&rows, &options, words)?;
    }
    for section in sections::chosen(&options.only) {
        let table = (section.measure)(&options)?;
        println!("### {}\n\n{table}", section.name);
        if options.keep == Keep::Write {
            let cores = text::cores();
            let table = format!("{cores}, {} runs.\n\n{table}", options.runs);
            text::write(Some(section.name), &table, words)?;
        }
    }
    Ok(())
}

/// Heaplens and its peers on the rows.
fn compare(rows: &[&'static Row], options: &BenchOptions, words: &[&str]) -> Result<()> {
    let paths = paths(rows, options)?;
    let tools = columns::chosen(&paths);
    let results = Results::measure(rows, &tools, &paths, options.runs)?;
    let versions = paths.python.as_deref().map(python::versions).transpose()?;
    let tables = text::tables(&results, options.runs, versions.as_deref());
    println!("{tables}");
    if options.keep == Keep::Write { text::write(None, &tables, words) } else { Ok(()) }
}

/// Builds what the rows need, and nothing else.
fn paths(rows: &[&Row], options: &BenchOptions) -> Result<Paths> {
    let (heaplens, folder) = (heaplens()?, empty_folder()?);
    for row in rows {
        if let BenchProgram::Cpp(name) = row.program {
            compile(&format!("bench/{name}.cpp"), "bench")?;
        }
    }
    let needs_python = rows.iter().any(|row| row.program.is_python());
    let modules: Vec<&str> = rows.iter().filter_map(|row| row.program.module()).collect();
    let python = needs_python.then(|| python::provide(options.python.as_deref(), &modules)).transpose()?;
    Ok(Paths { heaplens, earlier: options.earlier.clone(), python, folder })
}

/// A folder for what the programs and the tools leave: profiles of every process and every run would pile up.
fn empty_folder() -> Result<PathBuf> {
    let folder = target().join("bench");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}
