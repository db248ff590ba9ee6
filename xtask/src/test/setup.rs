//! What tests need besides the compiler, and the variables that tell them where it is. All of it comes from package
//! registries and goes below the build folder, but for Debian's packages.

use std::path::PathBuf;

use anyhow::Result;

use super::options::Scope;
use crate::environment;
use crate::packages::{self, FOR_SOAK, FOR_TESTS};
use crate::workspace::target;

/// Names and values that tests are given.
pub type Variables = Vec<(&'static str, PathBuf)>;

/// Installs what is missing. What cannot be had is said, and the tests that need it say so, too.
pub fn provide(scope: Scope) -> Variables {
    packages::provide(FOR_TESTS);
    packages::provide_components();
    if scope == Scope::All {
        packages::provide(FOR_SOAK);
        crate::soak::provide_interpreters();
    }
    let found: [(&'static str, Result<PathBuf>); 5] = [
        ("HEAPLENS_TENSORFLOW_PYTHON", environment::tensorflow()),
        ("HEAPLENS_JAX_PYTHON", environment::jax()),
        ("HEAPLENS_TORCH_PYTHON", environment::torch()),
        ("HEAPLENS_NOTEBOOK_PYTHON", environment::notebook()),
        ("HEAPLENS_NODE_READERS", environment::node_readers()),
    ];
    let said = |(name, found): (&'static str, Result<PathBuf>)| match found {
        Ok(path) => Some((name, path)),
        Err(error) => {
            eprintln!("{error:#}: tests that need {name} are skipped");
            None
        }
    };
    let interpreters = target().join("test-interpreters");
    // Another run may find others.
    drop(std::fs::remove_file(&interpreters));
    let mut variables: Variables = found.into_iter().filter_map(said).collect();
    variables.push(("HEAPLENS_TEST_INTERPRETERS", interpreters));
    if scope != Scope::All {
        variables.push(("HEAPLENS_TEST_SCOPE", "change".into()));
    }
    variables
}
