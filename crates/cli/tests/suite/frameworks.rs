//! Other frameworks than TensorFlow: nothing is known of them, so what grows is reported at its line, with who holds it. They are large:
//! `cargo xtask soak frameworks` sets them up and names their interpreters.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Heaplens, besides, skip};
use crate::python::script;

/// What a program says of itself and what Heaplens finds; none where the framework is not there.
fn reported(variable: &str, program: &str, kind: &str) -> Option<(Option<Truth>, Vec<Value>)> {
    let Some(python) = std::env::var_os(variable).map(PathBuf::from) else {
        skip(&format!("frameworks::{program} {kind}"), &format!("{variable} names no Python"));
        return None;
    };
    let run = Heaplens::on(&python, &[]).arg(script(program)).arg(kind).finish().expect_status(0);
    let said = run.stdout();
    let words = said.lines().find_map(|line| line.strip_prefix("truth ")).expect("a truth").to_owned();
    let findings = run.report().0["findings"].as_array().expect("findings").clone();
    Some((Truth::parse(&words), findings))
}

/// The line that makes what is kept (0: a thread that has none), bytes per iteration (0: not known), and the variable that holds it.
#[derive(Debug)]
struct Truth {
    line: u64,
    bytes: f64,
    holder: String,
}

impl Truth {
    fn parse(words: &str) -> Option<Self> {
        let [line, bytes, holder] = words.split(' ').collect::<Vec<_>>()[..] else { return None };
        let (line, bytes) = (line.parse().expect("a line"), bytes.parse().expect("bytes"));
        Some(Self { line, bytes, holder: holder.to_owned() })
    }
}

fn assert_reported(variable: &str, program: &str, kind: &str) {
    let Some((truth, found)) = reported(variable, program, kind) else { return };
    let Some(truth) = truth else {
        assert!(found.is_empty(), "{program} {kind} is well-behaved: {found:#?}");
        return;
    };
    let first = found.first().unwrap_or_else(|| panic!("{program} {kind}: nothing is found, {truth:?}"));
    if truth.line > 0 {
        assert_eq!(first["location"]["line"], truth.line, "{program} {kind}: {found:#?}");
    }
    let per_iteration = first["bytes_per_iteration"].as_f64().expect("bytes");
    if truth.bytes > 0.0 {
        assert!((per_iteration - truth.bytes).abs() < 0.05 * truth.bytes, "{truth:?}: {per_iteration} B");
        let holder = first["holder"].to_string();
        assert!(holder.contains(&truth.holder), "{truth:?}: {holder}");
    }
}

#[test]
fn torch_loops_are_reported_at_their_lines() {
    for kind in ["graph", "clean"].iter().chain(besides(&["list", "optimizers"])) {
        assert_reported("HEAPLENS_TORCH_PYTHON", "torch_loops.py", kind);
    }
}

#[test]
fn jax_loops_are_reported_at_their_lines() {
    for kind in ["list", "clean"].iter().chain(besides(&["shapes"])) {
        assert_reported("HEAPLENS_JAX_PYTHON", "jax_loops.py", kind);
    }
}
