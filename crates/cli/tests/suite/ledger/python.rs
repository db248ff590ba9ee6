//! Python programs: objects and pools against the interpreter's own statistics, arrays against the script's arithmetic.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Ledger, MIB, assert_near, said};
use crate::harness::{Heaplens, skip};
use crate::python::interpreters;
use crate::python::script;

/// What `sys._debugmallocstats` says, from a run without Heaplens: an allocator before Python's own hides it.
struct Statistics(String);

impl Statistics {
    fn of(python: &Path, script: &Path) -> Self {
        let output = Command::new(python).arg(script).arg("stats").output().expect("Python starts");
        Self(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// `# bytes in allocated blocks        =            1,234`.
    fn bytes(&self, name: &str) -> f64 {
        let line = self
            .0
            .lines()
            .find(|line| line.contains(name))
            .unwrap_or_else(|| panic!("no {name} in\n{}", self.0));
        let digits = line.rsplit('=').next().unwrap_or_default().replace([',', ' '], "");
        digits.parse().unwrap_or_else(|_| panic!("no number: {line}"))
    }
}

/// Blocks of `malloc` that Python's allocator asked for: objects too, but none that its statistics know.
fn large_objects(ledger: &Ledger) -> f64 {
    let report = ledger.0.clone().whole();
    let sites = report["sites"].as_array().into_iter().flatten();
    sites.filter(|site| site["kind"] == "python-block").filter_map(|site| site["held_bytes"].as_f64()).sum()
}

#[test]
fn objects_and_pools_are_what_the_interpreter_says() {
    let script = script("ledger_objects.py");
    for python in interpreters::all("ledger::python::objects_and_pools_are_what_the_interpreter_says") {
        eprintln!("Python {} at {}", python.version, python.path.display());
        let truth = Statistics::of(&python.path, &script);
        let ledger = Ledger::of(&Heaplens::on(&python.path, &[]).arg(&script).finish().expect_status(0));
        assert_eq!(ledger.end_is(), "end-of-script");
        let objects = ledger.end("python") - large_objects(&ledger);
        assert_near("objects", objects, truth.bytes("bytes in allocated blocks"), 0.02, 0.0);
        let names = ["bytes in available blocks", "bytes lost to pool headers", "bytes lost to quantization"];
        let in_pools: f64 = names.iter().map(|name| truth.bytes(name)).sum();
        // Pools of the last arena that were never used are in the statistics and not resident.
        let beside = truth.bytes("unused pools") + truth.bytes("bytes lost to arena alignment");
        let unused = ledger.end("pool-unused");
        assert!(
            unused >= 0.98 * in_pools && unused <= 1.02 * (in_pools + beside),
            "{unused} for {in_pools} + {beside}"
        );
    }
}

#[test]
fn an_interpreter_that_does_nothing_adds_up() {
    for python in interpreters::all("ledger::python::an_interpreter_that_does_nothing_adds_up") {
        eprintln!("Python {} at {}", python.version, python.path.display());
        let run = Heaplens::on(&python.path, &[]).arg(script("ledger_rest.py")).finish().expect_status(0);
        Ledger::of(&run).assert_adds_up(said(&run, "resident"));
    }
}

/// An interpreter that has a module: of the suite's, or of the environment that a variable names.
pub(super) fn with_module(test: &str, module: &str) -> Option<PathBuf> {
    let given = std::env::var_os("HEAPLENS_TENSORFLOW_PYTHON").map(PathBuf::from);
    let known = interpreters::all(test).into_iter().map(|python| python.path);
    given.into_iter().chain(known).find(|python| {
        let query = format!("import importlib.util as u; exit(u.find_spec('{module}') is None)");
        Command::new(python).args(["-c", &query]).output().is_ok_and(|output| output.status.success())
    })
}

#[test]
fn arrays_are_what_the_script_says() {
    let test = "ledger::python::arrays_are_what_the_script_says";
    let Some(python) = with_module(test, "numpy") else { return skip(test, "no interpreter here has NumPy") };
    let run = Heaplens::on(&python, &[]).arg(script("ledger_arrays.py")).finish().expect_status(0);
    let ledger = Ledger::of(&run);
    ledger.assert_adds_up(said(&run, "resident"));
    assert_near("arrays", ledger.end("numpy"), said(&run, "arrays"), 0.02, 0.0);
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn tensorflow_adds_up() {
    let test = "ledger::python::tensorflow_adds_up";
    let Some(python) = with_module(test, "tensorflow") else {
        return skip(test, "no interpreter here has TensorFlow");
    };
    let run =
        Heaplens::on(&python, &[]).arg(script("ledger_rest.py")).arg("tensorflow").finish().expect_status(0);
    let ledger = Ledger::of(&run);
    ledger.assert_adds_up(said(&run, "resident"));
    assert!(ledger.end("mapped-files") > 100.0 * MIB);
}
