//! A healthy TensorFlow with one lost block planted under each frame that a suppression of ours names: a suppression hides what is
//! held by a pointer into its middle, and nothing that is lost.

use std::collections::BTreeSet;
use std::path::PathBuf;

use heaplens_analyze::suppressions::built_in_files;
use serde_json::Value;

use crate::harness::{Folder, Heaplens, Report, program_with, skip};
use crate::python::script;

const SOURCE: &str = include_str!("../../../../tests/programs/planted.cpp");

/// The innermost frame that each suppression of leaks names besides the allocating function. One that names an object file is of that library
/// alone, and cannot be planted in ours.
fn suppressed_frames() -> BTreeSet<&'static str> {
    let entries = built_in_files().flat_map(|file| file.split("\n{\n").skip(1));
    let entries = entries.filter(|entry| entry.contains("Memcheck:Leak") && !entry.contains("obj:"));
    let frame =
        |entry: &'static str| entry.lines().filter_map(|line| line.trim().strip_prefix("fun:")).next_back();
    entries.map(|entry| frame(entry).expect("an entry names a frame")).collect()
}

/// `// plant PATTERN`, by line.
fn plants() -> Vec<(u64, &'static str)> {
    let plant = |(text, line): (&'static str, u64)| Some((line, text.split_once("// plant ")?.1));
    SOURCE.lines().zip(1..).filter_map(plant).collect()
}

#[test]
fn every_suppression_that_comes_with_heaplens_has_a_plant() {
    let planted: BTreeSet<&str> = plants().into_iter().map(|(_, pattern)| pattern).collect();
    assert_eq!(planted, suppressed_frames());
}

/// What the program says: bytes and lines that are lost, and bytes that are held by pointers into blocks.
fn said(output: &[u8]) -> (BTreeSet<(u64, u64)>, u64) {
    let text = String::from_utf8_lossy(output);
    let numbers = |line: &str| line.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
    let lines = text.lines().filter(|line| line.starts_with("planted ")).map(numbers);
    let held = text.lines().find(|line| line.starts_with("held ")).map(numbers);
    (lines.map(|row| (row[1], row[0])).collect(), held.expect("the library speaks")[0])
}

fn is_planted(record: &Value) -> bool {
    let frames = record["stack"].as_array().expect("a stack");
    frames.iter().any(|frame| frame["file"].as_str().is_some_and(|file| file.ends_with("planted.cpp")))
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn what_is_lost_under_a_suppressed_frame_is_reported() {
    let test = "lost_by_tensorflow_planted::what_is_lost_under_a_suppressed_frame_is_reported";
    let Some(python) = std::env::var_os("HEAPLENS_TENSORFLOW_PYTHON").map(PathBuf::from) else {
        return skip(test, "HEAPLENS_TENSORFLOW_PYTHON names no Python with TensorFlow");
    };
    let library = program_with("planted.cpp", "libplanted.so", &["-shared", "-fPIC", "-O1", "-std=c++17"]);
    let (folder, library) = (Folder::new(), library.expect("an ordinary library compiles"));
    let json = folder.file("lost.json");
    let mut command = Heaplens::bare(["memcheck", "--json"]);
    command.arg(&json).arg(python).arg(script("planted.py")).arg(library).env("TF_CPP_MIN_LOG_LEVEL", "3");
    let output = command.output().expect("heaplens starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = Report::parse(&std::fs::read(json).expect("a report")).whole();
    let lost = &report["lost"];
    let (planted, held) = said(&output.stdout);
    let records = lost["records"].as_array().expect("records");
    let is_direct = |record: &&Value| record["kind"] == "definitely" || record["kind"] == "possibly";
    let (of_plants, others): (Vec<&Value>, Vec<&Value>) =
        records.iter().filter(is_direct).partition(|record| is_planted(record));
    assert_eq!(others, Vec::<&Value>::new(), "TensorFlow itself loses nothing");
    let row = |record: &&Value| {
        assert_eq!(record["kind"], "definitely", "{record}");
        (record["stack"][0]["line"].as_u64().expect("a line"), record["bytes"].as_u64().expect("bytes"))
    };
    assert_eq!(of_plants.iter().map(row).collect::<BTreeSet<(u64, u64)>>(), planted);
    let suppressed = lost["suppressed"]["bytes"].as_u64().expect("bytes");
    assert!(suppressed >= held, "what a plant holds by its middle is suppressed: {suppressed} of {held}");
}
