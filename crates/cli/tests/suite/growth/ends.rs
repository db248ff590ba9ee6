//! Native programs without marks that free what they have because they end, and buffers of which ever more is written.

use super::{Program, Truth};
use crate::harness::{Heaplens, program};

const SOURCE: &str = include_str!("../../../../../tests/programs/ends.c");

fn ends(mode: &str, truth: Truth) -> Program {
    let (command, words) = (program("ends.c"), vec![mode.to_owned()]);
    Program { name: format!("ends {mode}"), command, words, truth, file: "ends.c".into(), holder: None }
}

fn line(end: &str) -> u64 {
    SOURCE.lines().position(|line| line.ends_with(end)).map_or(0, |at| at as u64 + 1)
}

#[test]
fn what_a_program_frees_because_it_ends_has_grown_until_then() {
    let cleans = ends("cleans", Truth::Leaks { line: line("// what is kept") });
    super::try_all(&[cleans, ends("cleans-early", Truth::Bounded)], None);
}

#[test]
fn a_buffer_that_is_enlarged_again_and_again_is_what_grows() {
    super::try_all(&[ends("doubles", Truth::Leaks { line: line("// what is enlarged") })], None);
}

/// It has an end, which nothing but the buffer's size says.
#[test]
fn a_buffer_that_had_its_size_from_the_beginning_is_no_leak() {
    let run = Heaplens::on(&program("ends.c"), &["-q"]).arg("writes").finish().expect_status(0);
    let report = run.report().0;
    assert!(report["verdict"] != "leak", "{report:#}");
}
