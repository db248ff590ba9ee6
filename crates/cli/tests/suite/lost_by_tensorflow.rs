//! Memory that operations of TensorFlow lose, among hundreds of thousands of blocks that TensorFlow keeps: every one of theirs and
//! none of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::{Folder, Heaplens, Report, program_with, skip};
use crate::python::script;

const SOURCE: &str = include_str!("../../../../tests/programs/leaking_operations.cpp");
const FLAGS: &str = "import tensorflow as tf
print('\\n'.join(tf.sysconfig.get_compile_flags() + tf.sysconfig.get_link_flags()))";
const CALLS: u64 = 20;

/// What is lost with every call: line, kind, bytes, blocks, and bytes and blocks with it.
type Loss = (u64, String, [u64; 4]);

/// `// definitely 32 1 with 4136 2`, as the lines of the source say it.
fn truth() -> Vec<Loss> {
    let said = SOURCE.lines().zip(1..).filter_map(|(text, line)| {
        let (kind, rest) = text.split_once("// ")?.1.split_once(' ')?;
        let numbers: Vec<u64> = rest.split(' ').filter_map(|word| word.parse().ok()).collect();
        let number = |at: usize| CALLS * numbers.get(at).copied().unwrap_or(0);
        (kind == "definitely").then(|| (line, kind.to_owned(), [number(0), number(1), number(2), number(3)]))
    });
    said.collect()
}

/// What a library of operations is compiled with, a word in each line.
pub fn flags_of_tensorflow(python: &Path) -> String {
    let said = Command::new(python).args(["-c", FLAGS]).output().expect("it starts").stdout;
    String::from_utf8_lossy(&said).into_owned()
}

/// The library, compiled for this TensorFlow.
pub fn operations(python: &Path) -> PathBuf {
    let said = flags_of_tensorflow(python);
    let flags: Vec<&str> = ["-shared", "-fPIC", "-O1"].into_iter().chain(said.lines()).collect();
    program_with("leaking_operations.cpp", "libleaking_operations.so", &flags).expect("it compiles")
}

/// What is lost by the end of a script that calls these operations.
fn lost(python: &Path, names: &[&str]) -> Value {
    let (folder, library) = (Folder::new(), operations(python));
    let json = folder.file("lost.json");
    let mut command = Heaplens::bare(["memcheck", "--json"]);
    command.arg(&json).arg(python).arg(script("leaking_operations.py")).arg(library).arg(CALLS.to_string());
    let output = command.args(names).env("TF_CPP_MIN_LOG_LEVEL", "3").output().expect("heaplens starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = Report::parse(&std::fs::read(json).expect("a report")).whole();
    report["lost"].clone()
}

fn direct(lost: &Value) -> Vec<&Value> {
    let records = lost["records"].as_array().expect("records");
    records.iter().filter(|record| record["kind"] == "definitely" || record["kind"] == "possibly").collect()
}

fn found(lost: &Value) -> Vec<Loss> {
    let mut found: Vec<Loss> = direct(lost).into_iter().map(loss).collect();
    found.sort();
    found
}

/// What is lost, with its stacks: for whoever reads that the test failed.
fn in_full(lost: &Value) -> String {
    serde_json::to_string_pretty(&direct(lost)).expect("JSON")
}

fn loss(record: &Value) -> Loss {
    let number = |field: &str| record[field].as_u64().expect("a number");
    let frame = &record["stack"][0];
    let is_own = frame["file"].as_str().is_some_and(|file| file.ends_with("leaking_operations.cpp"));
    let line = if is_own { frame["line"].as_u64().expect("a line") } else { 0 };
    let numbers = ["bytes", "blocks", "indirect_bytes", "indirect_blocks"].map(number);
    (line, record["kind"].as_str().expect("a kind").to_owned(), numbers)
}

#[test]
fn operations_lose_what_their_lines_say_and_tensorflow_nothing() {
    let test = "lost_by_tensorflow::operations_lose_what_their_lines_say_and_tensorflow_nothing";
    let Some(python) = std::env::var_os("HEAPLENS_TENSORFLOW_PYTHON").map(PathBuf::from) else {
        return skip(test, "HEAPLENS_TENSORFLOW_PYTHON names no Python with TensorFlow");
    };
    // The last one makes the same calls and loses nothing: a word that is left in a stack of the call before would seem to hold what that lost.
    let leaking = lost(&python, &["loses_buffer", "loses_member", "loses_tensor", "loses_nothing"]);
    assert_eq!(found(&leaking), truth(), "{}", in_full(&leaking));
    let sound = lost(&python, &["loses_nothing"]);
    assert_eq!(found(&sound), [], "{}", in_full(&sound));
    let kept = sound["still_reachable"]["blocks"].as_u64().expect("a number");
    assert!(kept > 100_000, "TensorFlow keeps {kept} blocks");
}
