//! Native programs that use TensorFlow: their iterations are the runs of a session.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Heaplens, program_with, skip};

const SOURCE: &str = include_str!("../../../../tests/programs/native_sessions.c");
const DIRECTORY: &str =
    "import importlib.util; print(importlib.util.find_spec('tensorflow').submodule_search_locations[0])";

/// The program, linked with the libraries of the Python package; `None` where there is none, or it lacks headers.
fn native_sessions(test: &str) -> Option<PathBuf> {
    let Some(python) = std::env::var_os("HEAPLENS_TENSORFLOW_PYTHON") else {
        skip(test, "HEAPLENS_TENSORFLOW_PYTHON names no Python with TensorFlow");
        return None;
    };
    let said = Command::new(python).args(["-c", DIRECTORY]).output().expect("it starts").stdout;
    let folder = String::from_utf8_lossy(&said).trim().to_owned();
    if !Path::new(&folder).join("include/tensorflow/c/c_api.h").exists() {
        skip(test, &format!("{folder} has no headers for C"));
        return None;
    }
    let directories = [format!("-I{folder}/include"), format!("-L{folder}"), format!("-Wl,-rpath,{folder}")];
    let libraries = ["-Wl,--no-as-needed", "-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"];
    let flags: Vec<&str> = directories.iter().map(String::as_str).chain(libraries).collect();
    Some(program_with("native_sessions.c", "native_sessions", &flags).expect("it compiles"))
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn runs_of_a_session_are_the_iterations_of_a_native_program() {
    let test = "native_tensorflow::runs_of_a_session_are_the_iterations_of_a_native_program";
    let Some(program) = native_sessions(test) else { return };
    let run = Heaplens::on(&program, &[]).env("TF_CPP_MIN_LOG_LEVEL", "3").finish().expect_status(0);
    let (text, report) = (run.stdout(), run.report());
    let said = text.lines().find_map(|line| line.strip_prefix("runs ")).expect("the program speaks");
    let said: Vec<u64> = said.split(' ').map(|number| number.parse().expect("a number")).collect();
    assert_eq!(report.0["iterations"]["count"], said[0], "{}", report.0["iterations"]);
    assert_eq!(report.0["iterations"]["how"], "marks");
    assert!(run.stderr().contains("300 (runs of Session::Run)"), "{}", run.stderr());
    let line = SOURCE.lines().position(|line| line.ends_with("// here")).map_or(0, |at| at as u64 + 1);
    let findings = report.0["findings"].as_array().expect("findings");
    let found = findings.iter().find(|finding| finding["location"]["line"] == line);
    let slope = found.and_then(|finding| finding["bytes_per_iteration"].as_f64()).expect("its line is found");
    assert!((slope / said[1] as f64 - 1.0).abs() < 0.05, "{slope} a run where {} are true", said[1]);
}
