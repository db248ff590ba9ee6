//! Frameworks and versions that are too large for every change, each in an environment of its own.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::environment::{self, Wanted};

/// A framework and the tests that are run on it.
pub struct Framework {
    pub name: &'static str,
    wanted: Wanted,
    /// The variable that names its interpreter to the tests.
    pub variable: &'static str,
    /// What their names contain, separated by spaces.
    pub tests: &'static str,
}

/// The variable that names an interpreter with TensorFlow to the tests.
pub const TENSORFLOW: &str = "HEAPLENS_TENSORFLOW_PYTHON";
const OF_TENSORFLOW: &str = "tensorflow_rules tensorflow_pools tensorflow_workers tensorflow_finalize";

pub const ALL: [Framework; 4] = [
    Framework {
        name: "tensorflow-2.15",
        wanted: ("tensorflow", "tensorflow-cpu==2.15.1"),
        variable: TENSORFLOW,
        tests: OF_TENSORFLOW,
    },
    Framework {
        name: "tensorflow-2.12",
        wanted: ("tensorflow", "tensorflow-cpu==2.12.1"),
        variable: TENSORFLOW,
        tests: OF_TENSORFLOW,
    },
    Framework {
        name: "torch",
        wanted: ("torch", "torch==2.15.0"),
        variable: "HEAPLENS_TORCH_PYTHON",
        tests: "frameworks::torch",
    },
    Framework {
        name: "jax",
        wanted: ("jax", "jax==0.10.2"),
        variable: "HEAPLENS_JAX_PYTHON",
        tests: "frameworks::jax",
    },
];

impl Framework {
    /// Those of these names, or all.
    pub fn named(names: &[&str]) -> Result<Vec<&'static Self>> {
        let known: Vec<&str> = ALL.iter().map(|framework| framework.name).collect();
        let unknown = names.iter().find(|name| !known.contains(name));
        ensure!(
            unknown.is_none(),
            "no framework `{}`; there are: {}",
            unknown.unwrap_or(&""),
            known.join(", ")
        );
        Ok(ALL.iter().filter(|framework| names.is_empty() || names.contains(&framework.name)).collect())
    }

    /// Its interpreter.
    pub fn python(&self) -> Result<PathBuf> {
        environment::provide(&format!("{}-python", self.name), &[self.wanted])
    }
}
