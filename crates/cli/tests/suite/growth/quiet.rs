//! Python programs without a loop that covers them: judged over time from when their imports are over, by marks of the recorder's own.

use serde_json::Value;

use crate::harness::{Finished, Folder, Heaplens};
use crate::python::script;

/// Two seconds until it is quiet, fifteen to judge it, and some to spare.
const LONG: &str = "20";

fn run(what: &str, seconds: &str) -> Finished {
    let run = Heaplens::on(super::python(), &["-q"]).arg(script("python_quiet.py"));
    run.arg(what).arg(seconds).finish().expect_status(0)
}

fn line(run: &Finished) -> Value {
    let stdout = run.stdout();
    let line = stdout.lines().find_map(|line| line.strip_prefix("line ")).expect("it says its line");
    line.parse::<u64>().expect("a number").into()
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_server_without_loops_that_keeps_what_it_made_leaks_at_that_line() {
    let run = run("keep", LONG);
    let report = run.report().0;
    assert_eq!((&report["verdict"], &report["iterations"]["per"]), (&"leak".into(), &"second".into()));
    assert_eq!(report["findings"][0]["location"]["line"], line(&run), "{report:#}");
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_server_without_loops_that_keeps_the_last_does_not() {
    let report = run("replace", LONG).report().0;
    assert!(["clean", "plateau"].iter().any(|verdict| report["verdict"] == *verdict), "{report:#}");
}

/// The comprehension has six iterations, at the end of it.
#[test]
fn a_few_iterations_after_the_work_are_not_those_of_the_program() {
    let report = run("count", "10").report().0;
    assert_eq!(
        (&report["iterations"]["per"], &report["iterations"]["count"]),
        (&"second".into(), &Value::Null)
    );
}

#[test]
fn a_program_that_grows_for_too_few_seconds_is_too_short() {
    let report = run("keep", "10").report().0;
    assert_eq!(report["verdict"], "too-short", "{report:#}");
}

/// A package whose import takes far longer than the loop, and makes ever new sites.
fn slow_package(folder: &Folder) {
    let package = folder.file("site-packages/slow");
    std::fs::create_dir_all(&package).expect("writable");
    let module = "import time\ntime.sleep(0.1)\nTABLE = bytearray(200_000)\ntime.sleep(0.1)\n";
    let mut imports = String::new();
    for number in 0..20 {
        std::fs::write(package.join(format!("part{number}.py")), module).expect("writable");
        imports.push_str(&format!("from . import part{number}\n"));
    }
    std::fs::write(package.join("__init__.py"), imports).expect("writable");
}

#[test]
fn a_loop_with_few_iterations_after_long_imports_counts() {
    let folder = Folder::new();
    slow_package(&folder);
    let source = "import slow\nkept = []\nfor epoch in range(12):\n    kept.append(bytearray(900_000))\n";
    std::fs::write(folder.file("train.py"), source).expect("writable");
    let run = Heaplens::on(super::python(), &["-q"]).env("PYTHONPATH", folder.file("site-packages"));
    let report = run.arg(folder.file("train.py")).finish().expect_status(0).report().0;
    assert_eq!(report["iterations"]["count"], 12, "{report:#}");
    assert_eq!(report["iterations"]["loop"]["line"], 3);
}
