//! Loops around TensorFlow: its own loops, threads and thousands of frames must not be taken for the user's.

use std::path::PathBuf;

use super::loops::{reported, said};
use super::script;
use crate::harness::{Heaplens, skip};

/// An interpreter that has TensorFlow; `cargo xtask test` makes one.
pub fn python(test: &str) -> Option<PathBuf> {
    let python = std::env::var_os("HEAPLENS_TENSORFLOW_PYTHON").map(PathBuf::from);
    if python.is_none() {
        skip(test, "HEAPLENS_TENSORFLOW_PYTHON names no Python with TensorFlow");
    }
    python
}

fn assert_counted(kind: &str) {
    let Some(python) = python(&format!("python::tensorflow::{kind}")) else { return };
    let run = Heaplens::on(&python, &[]).arg(script("tensorflow_loops.py")).arg(kind);
    let run = run.env("TF_CPP_MIN_LOG_LEVEL", "3").finish().expect_status(0);
    assert_eq!(reported(&run), said(&run), "{kind}");
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn two_calls_of_a_session_in_an_iteration_are_one_iteration() {
    assert_counted("two_sessions");
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_model_that_is_fitted_in_each_trial_counts_trials() {
    assert_counted("keras_trials");
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn iterations_of_eager_steps_are_counted() {
    assert_counted("eager_while");
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn calls_of_a_compiled_function_are_counted() {
    assert_counted("function_step");
}
