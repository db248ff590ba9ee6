//! The fault campaign: short runs of the test programs under Heaplens, each with one fault at a random moment. Whatever
//! happens to the recorder, the limits or the disk, the program must end as it does alone, in time, and what was recorded
//! must be readable. One seed gives the same programs and faults again, though not the same moments.

mod fault;
mod program;
mod random;
mod trial;

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use crate::check::Count;
use crate::workspace::{heaplens, target};
use fault::Fault;
use program::Programs;
use random::Random;
use trial::Bench;

const RUNS: u64 = 10_000;

/// `[RUNS [SEED]]`: runs the campaign and says of each run that went wrong how to have it again.
pub fn run(words: &[&str]) -> Result<Count> {
    let number =
        |at: usize| words.get(at).map(|word| word.parse::<u64>().context("not a number")).transpose();
    let (runs, seed) = (number(0)?.unwrap_or(RUNS), number(1)?.unwrap_or_else(clock));
    println!("== campaign: {runs} runs, seed {seed} (again: cargo xtask soak campaign {runs} {seed})");
    let folder = target().join("campaign");
    let programs = Programs::build(&folder)?;
    let mut bench = Bench::new(heaplens()?, folder)?;
    let mut count = Count::default();
    for number in 1..=runs {
        count = count.and(one(&mut bench, &programs, seed, number)?);
        if number.is_multiple_of(500) {
            println!("{number} runs, {} failed", count.failed);
        }
    }
    bench.say_what_was_met();
    Ok(count)
}

fn one(bench: &mut Bench, programs: &Programs, seed: u64, number: u64) -> Result<Count> {
    // Every run has its own stream of random numbers, so that one can be had again without those before it.
    let mut random = Random::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let program = programs.choose(&mut random);
    let fault = Fault::choose(&mut random, bench.can_mount());
    let wrong = bench.run(program, fault)?;
    if let Some(wrong) = &wrong {
        println!("FAILED: run {number} of seed {seed}: {} with {fault:?}: {wrong}", program.name());
    }
    Ok(Count::one(wrong.is_none()))
}

fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_faults_again() {
        let faults = |seed| {
            let mut random = Random::new(seed);
            (0..20).map(|_| format!("{:?}", Fault::choose(&mut random, true))).collect::<Vec<_>>()
        };
        assert_eq!(faults(7), faults(7));
        assert_ne!(faults(7), faults(8));
    }
}
