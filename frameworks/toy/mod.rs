//! The framework of the tests (`tests/programs/toyframework`): models in a registry, with memory from a pool. It shows what a framework
//! takes: this folder, and its line in the registry. Compiled with the feature `toy` alone, for `crates/cli/tests/toy.rs`.

#[cfg(feature = "inside")]
mod hooks;
#[cfg(not(feature = "inside"))]
mod rules;

use super::Framework;

#[cfg(feature = "inside")]
pub(crate) static FRAMEWORK: Framework =
    Framework { modules: &["/toyframework/"], probe: super::source(concat!(include_str!("probe.py"), "\0")) };

#[cfg(not(feature = "inside"))]
pub(crate) static FRAMEWORK: Framework =
    Framework { rules: rules::RULES, suppressions: "", remarks: &[], runs: None };
