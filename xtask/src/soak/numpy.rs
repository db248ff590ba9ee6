//! NumPy's own core tests, in an environment below the build folder.

use anyhow::Result;

use super::suites::{self, Suite, judge};
use crate::check::Count;
use crate::environment::{self, Wanted};
use crate::workspace::heaplens;

const PACKAGES: [Wanted; 3] =
    [("numpy", "numpy==2.1.3"), ("pytest", "pytest==8.3.4"), ("hypothesis", "hypothesis==6.122.3")];
const TESTS: &str = "numpy._core";
const MOST_SECONDS: u64 = 1800;

/// Runs them; a line on all and one on each that differed.
pub fn run() -> Result<(Vec<String>, Count)> {
    let heaplens = heaplens()?;
    let suite = Suite {
        name: format!("{TESTS} of {}", PACKAGES[0].1),
        python: environment::provide("soak-python", &PACKAGES)?,
        runner: "pytest",
        words: ["-q", "-p", "no:cacheprovider", "-m", "not slow", "--pyargs", TESTS]
            .map(str::to_owned)
            .into(),
        most_seconds: MOST_SECONDS,
    };
    let verdict = judge(&heaplens, &suite, &[], &suites::folder("numpy"))?;
    Ok((verdict.lines, verdict.count))
}
