//! The suppressions that come with Heaplens, its own and those of frameworks.

use super::parse::parse;
use super::suppression::Suppression;
use crate::frameworks;

/// Those that come with Heaplens, in files: leaks that healthy programs are full of, each with its reason.
pub fn built_in_files() -> impl Iterator<Item = &'static str> {
    let of_frameworks = frameworks::ALL.iter().map(|framework| framework.suppressions);
    std::iter::once(include_str!("built_in.supp")).chain(of_frameworks)
}

/// The same, read.
pub fn built_in() -> Vec<Suppression> {
    built_in_files().flat_map(|file| parse(file).expect("a test reads them")).collect()
}
