//! Programs in C++ that use TensorFlow: a buffer of their own that they lose with every iteration, and a session that they never
//! delete, which is reachable and grows.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::{Folder, Heaplens, Report, program_with, skip};

const SOURCE: &str = include_str!("../../../../tests/programs/native_losses.cpp");
const FLAGS: &str = "import tensorflow as tf
print('\\n'.join(tf.sysconfig.get_compile_flags() + tf.sysconfig.get_link_flags()))";
const ITERATIONS: u64 = 20;
/// What a session that is never deleted holds, with its graph (measured with TensorFlow 2.21).
const SESSION: f64 = 86_800.0;

/// The program, linked with the libraries of the Python package; `None` where there is none.
fn native_losses(test: &str) -> Option<PathBuf> {
    let Some(python) = std::env::var_os("HEAPLENS_TENSORFLOW_PYTHON") else {
        skip(test, "HEAPLENS_TENSORFLOW_PYTHON names no Python with TensorFlow");
        return None;
    };
    let said = Command::new(python).args(["-c", FLAGS]).output().expect("it starts").stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    let folder = said.lines().find_map(|flag| flag.strip_prefix("-L")).expect("a folder of libraries");
    let run_path = format!("-Wl,-rpath,{folder}");
    // The libraries stand before the source, which is what needs them.
    let (first, last) = (["-Wl,--no-as-needed", "-O1"], ["-l:libtensorflow_cc.so.2", run_path.as_str()]);
    let flags: Vec<&str> = first.into_iter().chain(said.lines()).chain(last).collect();
    Some(program_with("native_losses.cpp", "native_losses", &flags).expect("it compiles"))
}

/// The line of the source that ends so.
fn line_of(end: &str) -> u64 {
    SOURCE.lines().zip(1..).find(|(line, _)| line.ends_with(end)).expect("the source has it").1
}

/// What a program lost: kind, line, bytes and blocks.
fn lost(program: &Path, what: &str) -> Vec<(String, u64, u64, u64)> {
    let folder = Folder::new();
    let json = folder.file("lost.json");
    let mut command = Heaplens::bare(["memcheck", "--json"]);
    command.arg(&json).arg(program).args([what, &ITERATIONS.to_string()]).env("TF_CPP_MIN_LOG_LEVEL", "3");
    let output = command.output().expect("heaplens starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = Report::parse(&std::fs::read(json).expect("a report")).whole();
    let kept = report["lost"]["still_reachable"]["blocks"].as_u64().expect("a number");
    assert!(kept > 100_000, "TensorFlow keeps {kept} blocks");
    let records = report["lost"]["records"].as_array().expect("records").iter();
    let row = |record: &Value| {
        let number = |field: &str| record[field].as_u64().expect("a number");
        let kind = record["kind"].as_str().expect("a kind").to_owned();
        (kind, record["stack"][0]["line"].as_u64().unwrap_or(0), number("bytes"), number("blocks"))
    };
    records.filter(|record| record["kind"] != "still_reachable").map(row).collect()
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_buffer_that_a_program_loses_with_every_run_is_definitely_lost_at_its_line() {
    let test = "lost_by_tensorflow_natively::a_buffer_that_a_program_loses_with_every_run_is_definitely_lost_at_its_line";
    let Some(program) = native_losses(test) else { return };
    let line = line_of("// definitely 4096 1");
    assert_eq!(lost(&program, "buffer"), [("definitely".to_owned(), line, 4096 * ITERATIONS, ITERATIONS)]);
    assert_eq!(lost(&program, "nothing"), []);
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_session_that_is_never_deleted_is_not_lost_and_grows_at_the_line_that_makes_it() {
    let test = "lost_by_tensorflow_natively::a_session_that_is_never_deleted_is_not_lost_and_grows_at_the_line_that_makes_it";
    let Some(program) = native_losses(test) else { return };
    assert_eq!(lost(&program, "session"), [], "as Memcheck and the leak sanitizer see it");
    let run = Heaplens::on(&program, &[])
        .arg("session")
        .arg("60")
        .env("TF_CPP_MIN_LOG_LEVEL", "3")
        .finish()
        .expect_status(0);
    let report = run.report();
    let findings = report.0["findings"].as_array().expect("findings");
    let (made, created) = (line_of("// session"), line_of("// and its graph"));
    assert_eq!(findings[0]["location"]["line"], made, "{}", run.stderr());
    let slope = |line: u64| {
        let of_line = findings.iter().find(|finding| finding["location"]["line"] == line);
        of_line.and_then(|finding| finding["bytes_per_iteration"].as_f64()).expect("a slope")
    };
    let session = slope(made) + slope(created);
    assert!((session / SESSION - 1.0).abs() < 0.1, "{session} a session where {SESSION} are true");
    let sound =
        Heaplens::on(&program, &[]).arg("nothing").arg("60").env("TF_CPP_MIN_LOG_LEVEL", "3").finish();
    assert_eq!(sound.expect_status(0).report().0["findings"], serde_json::json!([]));
}
