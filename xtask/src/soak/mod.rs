//! `cargo xtask soak`: runs that are too long for every change. Each one's command, commit and result go into docs/soak.md.

mod checkers;
mod compiler_rt;
mod cpython;
mod frameworks;
mod fuzz;
mod interpreters;
mod juliet;
mod numpy;
mod suites;
mod valgrind_tests;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::check::{Count, tests_saying};
use crate::environment;
use crate::packages::{self, FOR_SOAK, FOR_TESTS};
use crate::workspace::{cargo, commit, root};
use frameworks::{Framework, TENSORFLOW};

/// Tests of the ordinary suite, asked for more.
struct Soak {
    name: &'static str,
    /// What their names contain, separated by spaces.
    test: &'static str,
    variable: &'static str,
    value: &'static str,
}

const SOAKS: &[Soak] = &[
    Soak { name: "checked", test: "real_programs::", variable: "HEAPLENS_CHECKED", value: "1" },
    Soak { name: "images", test: "snapshots::a_busy", variable: "HEAPLENS_IMAGES", value: "1000" },
    Soak { name: "kill", test: "kill::", variable: "HEAPLENS_KILL_RUNS", value: "100" },
    Soak {
        name: "pairs",
        test: "bounded::a_hundred_million",
        variable: "HEAPLENS_PAIRS",
        value: "1000000000",
    },
    Soak {
        name: "sqlite",
        test: "real_programs::databases::sqlite",
        variable: "HEAPLENS_SQLITE_ROWS",
        value: "1700000",
    },
    Soak {
        name: "git",
        test: "real_programs::databases::git",
        variable: "HEAPLENS_GIT_COMMITS",
        value: "3000",
    },
    Soak {
        name: "pgbench",
        test: "real_programs::databases::postgres",
        variable: "HEAPLENS_PGBENCH_SECONDS",
        value: "60",
    },
    Soak {
        name: "g++",
        test: "real_programs::compilers::a_cpp_compiler_on_a_large_file",
        variable: "HEAPLENS_CPP_PARTS",
        value: "200",
    },
    Soak {
        name: "python-tests",
        test: "real_programs::python",
        variable: "HEAPLENS_PYTHON_TESTS",
        value: "test_gc test_threading test_subprocess test_multiprocessing_spawn test_asyncio test_ctypes",
    },
    Soak {
        name: "frame-walks",
        test: "python::stacks python::objects python::walks python::interpreters",
        variable: "HEAPLENS_PYTHON_WALKS",
        value: "10000000",
    },
];

/// Runs the named ones, or all; `campaign [RUNS [SEED]]` is the fault campaign, `fuzz` has every fuzzer in turn,
/// `cpython-tests [MODULES]`, `numpy-tests`, `juliet FOLDER [CASES]`, `valgrind-tests FOLDER` and `compiler-rt FOLDER` are suites of other people; `frameworks [NAMES]` are versions of TensorFlow, PyTorch and JAX;
/// `variants` has the programs of TensorFlow with other names, sizes and functions; `interpreters` only unpacks those that the
/// tests find from then on.
pub fn run(names: &[&str]) -> Result<()> {
    match names {
        ["campaign", words @ ..] => return run_campaign(words),
        ["fuzz"] => return run_fuzzers(),
        ["cpython-tests", modules @ ..] => return run_suite(names, || cpython::run(modules)),
        ["numpy-tests"] => return run_suite(names, numpy::run),
        ["juliet", words @ ..] => return run_suite(names, || juliet::run(words)),
        ["compiler-rt", words @ ..] => return run_suite(names, || compiler_rt::run(words)),
        ["valgrind-tests", words @ ..] => return run_suite(names, || valgrind_tests::run(words)),
        ["frameworks", names @ ..] => return run_frameworks(names),
        ["variants"] => return run_variants(),
        ["interpreters"] => {
            interpreters::provide();
            return Ok(());
        }
        _ => {}
    }
    if let Some(unknown) = names.iter().find(|name| SOAKS.iter().all(|soak| soak.name != **name)) {
        let known: Vec<&str> = SOAKS.iter().map(|soak| soak.name).collect();
        bail!(
            "no long run `{unknown}`; there are: {}, campaign, fuzz, juliet, valgrind-tests, compiler-rt, cpython-tests, numpy-tests, frameworks, variants, interpreters",
            known.join(", ")
        );
    }
    packages::provide(FOR_TESTS);
    packages::provide(FOR_SOAK);
    interpreters::provide();
    for soak in SOAKS.iter().filter(|soak| names.is_empty() || names.contains(&soak.name)) {
        run_one(soak)?;
    }
    Ok(())
}

/// The interpreters that the machine's own packages do not have, unpacked where they are not there yet.
pub fn provide_interpreters() {
    interpreters::provide();
}

fn run_campaign(words: &[&str]) -> Result<()> {
    let start = Instant::now();
    let count = crate::campaign::run(words)?;
    let line = format!("cargo xtask soak campaign {}", words.join(" "));
    keep("campaign", line.trim_end(), count, start.elapsed().as_secs())?;
    ensure!(count.failed == 0, "the campaign failed");
    Ok(())
}

fn run_fuzzers() -> Result<()> {
    let start = Instant::now();
    let seconds = fuzz::seconds()?;
    let (lines, count) = fuzz::run(seconds)?;
    let text = format!("{}='{seconds}' cargo xtask soak fuzz\n{}", fuzz::VARIABLE, lines.join("\n"));
    keep("fuzz", &text, count, start.elapsed().as_secs())?;
    ensure!(count.failed == 0, "a fuzzer found a crash, or did not run");
    Ok(())
}

fn run_suite(words: &[&str], suite: impl FnOnce() -> Result<(Vec<String>, Count)>) -> Result<()> {
    packages::provide(FOR_TESTS);
    let start = Instant::now();
    let (lines, count) = suite()?;
    let words: Vec<&str> =
        words.iter().map(|word| if Path::new(word).is_dir() { "FOLDER" } else { word }).collect();
    let (name, text) = (words[0], format!("cargo xtask soak {}\n{}", words.join(" "), lines.join("\n")));
    keep(name, &text, count, start.elapsed().as_secs())?;
    ensure!(count.failed == 0 && count.passed > 0, "tests of `{name}` do not end as they do alone");
    Ok(())
}

fn run_frameworks(names: &[&str]) -> Result<()> {
    packages::provide(FOR_TESTS);
    let all = Framework::named(names)?;
    let run = |framework: &Framework| {
        let python = framework.python()?;
        let variables = [(framework.variable, &*python.to_string_lossy())];
        run_tests(framework.name, framework.tests, &variables, |words| {
            format!("cargo xtask soak frameworks {}: cargo {words}", framework.name)
        })
    };
    all.into_iter().try_for_each(run)
}

fn run_variants() -> Result<()> {
    packages::provide(FOR_TESTS);
    let python = environment::tensorflow()?;
    let variables = [(TENSORFLOW, &*python.to_string_lossy()), ("HEAPLENS_VARIED", "1")];
    run_tests("variants", "tensorflow_rules tensorflow_cases", &variables, |words| {
        format!("cargo xtask soak variants: cargo {words}")
    })
}

fn run_one(soak: &Soak) -> Result<()> {
    run_tests(soak.name, soak.test, &[(soak.variable, soak.value)], |words| {
        format!("{}='{}' cargo {words}", soak.variable, soak.value)
    })
}

/// Runs tests with variables, and keeps how they were run and how they ended.
fn run_tests(
    name: &str,
    tests: &str,
    variables: &[(&str, &str)],
    command: impl FnOnce(&str) -> String,
) -> Result<()> {
    let mut words = vec![
        "test",
        "--release",
        "--package",
        "heaplens",
        "--test",
        "suite",
        "--",
        "--nocapture",
        "--include-ignored",
    ];
    words.extend(tests.split_whitespace());
    let start = Instant::now();
    let (count, said) = tests_saying("soak: ", name, cargo(&words).envs(variables.iter().copied()))?;
    let text = [command(&words.join(" "))].into_iter().chain(said).collect::<Vec<_>>().join("\n");
    keep(name, &text, count, start.elapsed().as_secs())?;
    ensure!(count.failed == 0 && count.passed > 0, "the long run `{name}` failed");
    Ok(())
}

/// `text` is the command, and what else is worth a line.
fn keep(name: &str, text: &str, count: Count, seconds: u64) -> Result<()> {
    let path = root().join("docs/soak.md");
    let mut file = OpenOptions::new().append(true).open(path).context("cannot open docs/soak.md")?;
    let Count { passed, failed, skipped } = count;
    let commit = commit()?;
    writeln!(file, "\n## {name}, {commit}\n\n```\n{text}\n{passed} passed, {failed} failed, {skipped} skipped in {seconds} s\n```")
        .context("cannot write docs/soak.md")
}
