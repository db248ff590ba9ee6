//! The page of a TensorFlow program, whose imports alone have hundreds of thousands of stacks.

use std::path::PathBuf;

use super::browser::opened;
use super::page;
use crate::harness::{Heaplens, skip};
use crate::python::script;

const MOST_BYTES: u64 = 2 << 20;

#[test]
#[ignore = "long: cargo xtask test --all"]
fn the_page_of_a_tensorflow_program_is_small_and_keeps_the_rules() {
    let test = "html::tensorflow::the_page_of_a_tensorflow_program_is_small_and_keeps_the_rules";
    let Some(python) = std::env::var_os("HEAPLENS_TENSORFLOW_PYTHON").map(PathBuf::from) else {
        skip(test, "HEAPLENS_TENSORFLOW_PYTHON names no Python with TensorFlow");
        return;
    };
    let run = Heaplens::on(&python, &["-q"]).arg(script("tf_graphs.py")).arg("session_closed");
    let run = run.finish().expect_status(0);
    let file = page(&run);
    let bytes = file.metadata().expect("a file").len();
    assert!(bytes < MOST_BYTES, "{bytes}");
    let Some(seen) = opened(test, &file, "tf_graphs.py") else { return };
    seen.assert_quiet();
    assert!(seen.text().contains("C1 graph-growth"), "{}", seen.text());
    assert_eq!(seen.0["broken"], serde_json::json!({ "light": [], "dark": [] }));
}
