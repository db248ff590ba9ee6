//! Fresh programs for each run.

use std::io::Write;

use super::dice::Dice;
use super::native::Source;
use super::{Program, python, try_all};
use crate::harness::Folder;
use crate::python::interpreters;

/// Programs of either kind: marked and reported per iteration.
const OF_A_KIND: usize = 12;
/// Native programs of either kind without marks, reported per second: each takes one and a half.
const PER_SECOND: usize = 3;

/// A new seed, or the one that the environment gives to have a run again.
fn seed(test: &str) -> u64 {
    let given =
        std::env::var("HEAPLENS_SEED").ok().map(|seed| seed.parse().expect("HEAPLENS_SEED is a number"));
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let seed = given.unwrap_or_else(|| now().as_nanos() as u64 % 1_000_000_007);
    // Written past libtest's capture: it is wanted most when the test does not fail here.
    writeln!(std::io::stderr().lock(), "{test}: HEAPLENS_SEED={seed}").expect("stderr is open");
    seed
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn python_programs_that_grow_are_found_and_the_others_left_in_peace() {
    let test = "growth::generated::python_programs_that_grow_are_found_and_the_others_left_in_peace";
    let (seed, folder) = (seed(test), Folder::new());
    let mut dice = Dice::new(seed);
    let pythons = interpreters::some(test);
    let mut programs: Vec<Program> = Vec::new();
    for number in 0..OF_A_KIND {
        let python = &pythons[number % pythons.len()].path;
        programs.push(python::growing(&mut dice, folder.path(), python, 2 * number));
        programs.push(python::bounded(&mut dice, folder.path(), python, 2 * number + 1));
    }
    try_all(&programs, Some(seed));
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn native_programs_that_grow_are_found_and_the_others_left_in_peace() {
    let test = "growth::generated::native_programs_that_grow_are_found_and_the_others_left_in_peace";
    let (seed, folder) = (seed(test), Folder::new());
    let mut dice = Dice::new(seed);
    let mut source = Source::new();
    for _ in 0..OF_A_KIND {
        source.growing(&mut dice, None);
        source.bounded(&mut dice, None);
    }
    for _ in 0..PER_SECOND {
        source.growing(&mut dice, Some(3));
        source.bounded(&mut dice, Some(3));
    }
    try_all(&source.build(folder.path()), Some(seed));
}
