//! Project tasks. `cargo xtask` without a word lists them.

mod bench;
mod campaign;
mod check;
mod corpus;
mod cpython_tables;
mod demo;
mod edges;
mod environment;
mod lint;
mod packages;
mod soak;
mod test;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

const WORDS: &str = "\
cargo xtask demo          build everything and show Heaplens on an example that keeps memory
cargo xtask test          install what the tests need, run the tests that every change has to pass; --fast: the quick part of it,
                          --all: the long tests as well, --only NAME: tests whose names contain it
cargo xtask lint          format, clippy, check-edges, rustdoc
cargo xtask check-edges   do the crates depend on each other only as they may?
cargo xtask cpython-tables  write the tables of crates/cpython from the interpreters of this machine
cargo xtask bench         bare, Heaplens and its peers in one run: --only ROW or SECTION (readings,
                          fragmentation), --runs N, --python PATH, --write (into docs/benchmarks.md)
cargo xtask corpus        how often Heaplens is right on the labelled programs of tests/corpus: --only NAME, --class CLASS,
                          --jobs N, --fast, --held-out; --rescore: the reports of earlier runs; --truth:
                          measure them without Heaplens
cargo xtask soak [NAME]   the long runs; their output goes into docs/soak.md";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<ExitCode> {
    match words {
        ["demo"] => demo::run()?,
        ["test", options @ ..] => return test::run(options),
        ["lint"] => return Ok(lint::run()),
        ["check-edges"] => edges::run()?,
        ["cpython-tables"] => cpython_tables::run()?,
        ["bench", options @ ..] => bench::run(options)?,
        ["corpus", options @ ..] => return corpus::run(options),
        ["soak", names @ ..] => soak::run(names)?,
        [] | ["help" | "--help" | "-h"] => println!("{WORDS}"),
        _ => bail!("no task `{}`\n\n{WORDS}", words.join(" ")),
    }
    Ok(ExitCode::SUCCESS)
}
