//! `--finalize-graph`: the first line that would make a graph grow raises in the program, and the report names it.

use crate::harness::{Finished, Heaplens};
use crate::python::script;
use crate::python::tensorflow::python;

const SOURCE: &str = include_str!("../../../../tests/programs/tf_graphs.py");

fn ran(test: &str, kind: &str) -> Option<Finished> {
    let python = python(&format!("tensorflow_finalize::{test}"))?;
    let run = Heaplens::on(&python, &["--finalize-graph=5"]).arg(script("tf_graphs.py")).arg(kind);
    Some(run.env("TF_CPP_MIN_LOG_LEVEL", "3").finish())
}

/// The line of a function that the program itself marks.
fn marked(function: &str) -> u64 {
    let mut lines = (1..).zip(SOURCE.lines());
    lines.find(|(_, text)| text.starts_with(&format!("def {function}("))).expect("the function");
    lines.find(|(_, text)| text.ends_with("# costs most")).expect("the line").0
}

#[test]
fn the_line_that_would_make_the_graph_grow_raises_and_is_named() {
    let test = "the_line_that_would_make_the_graph_grow_raises_and_is_named";
    let Some(run) = ran(test, "hidden_product") else { return };
    assert_eq!(run.output.status.code(), Some(1), "{}", run.stderr());
    assert!(run.stderr().contains("RuntimeError: Graph is finalized"), "{}", run.stderr());
    let line = marked("hidden_product");
    let found = run.report().0["graph_finalized"].clone();
    assert_eq!(found["when"], "after 5 runs of the session");
    assert_eq!(found["location"]["line"], line, "{found}");
    let said =
        format!("finalized after 5 runs of the session; tf_graphs.py:{line} tried to add an operation");
    assert!(run.stderr().contains(&said), "{}", run.stderr());
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_program_that_builds_its_graph_once_runs_as_without_it() {
    let test = "a_program_that_builds_its_graph_once_runs_as_without_it";
    let Some(run) = ran(test, "built_once") else { return };
    let run = run.expect_status(0);
    let found = run.report().0["graph_finalized"].clone();
    assert_eq!(found["when"], "after 5 runs of the session");
    assert!(found["location"].is_null(), "{found}");
    assert!(run.stderr().contains("nothing tried to add an operation afterwards"), "{}", run.stderr());
}
