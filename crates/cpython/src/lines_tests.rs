//! Lines as the interpreters themselves say them, and tables of any bytes.

use std::format;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::string::String;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/lines.py");

/// The versions that must be right, where the machine has them.
const VERSIONS: [&str; 7] = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"];

/// Says what was not run, past libtest's capture.
fn not_run(what: &str) {
    use std::io::Write;
    writeln!(std::io::stderr().lock(), "skipped: lines of {what}: no such interpreter here")
        .expect("stderr is open");
}

/// The interpreters of pyenv with this version, and the one that `cargo xtask soak` unpacked into the build's folder.
fn installed(version: &str) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let folder = std::fs::read_dir(Path::new(&home).join(".pyenv/versions"));
    let entries = folder.into_iter().flatten().filter_map(Result::ok);
    let of_version =
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&format!("{version}.")));
    let kept = of_version.map(|entry| entry.path().join("bin/python3"));
    kept.chain(unpacked(version)).filter(|path| path.exists()).collect()
}

fn unpacked(version: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    // FOLDER/debug/deps/THIS
    Some(own.ancestors().nth(3)?.join("interpreters/usr/bin").join(format!("python{version}")))
}

/// Compares every instruction of every code object that the script prints; gives the number of instructions.
fn compare(interpreter: &Path) -> usize {
    let output = Command::new(interpreter).args(["-I", SCRIPT]).output().unwrap();
    assert!(output.status.success(), "{interpreter:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| compare_code(interpreter, line)).sum()
}

fn compare_code(interpreter: &Path, line: &str) -> usize {
    let [kind, first_line, table, truth] = line.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{interpreter:?} printed {line:?}")
    };
    let table = unhex(table);
    let lines = Lines {
        kind: LineTable::from_number(kind.parse().unwrap()).unwrap(),
        table: &table,
        first_line: first_line.parse().unwrap(),
    };
    let truth: Vec<u32> =
        truth.split(',').filter(|word| *word != "-").map(|word| word.parse().unwrap()).collect();
    let found: Vec<u32> = (0..truth.len() as u32).map(|instruction| lines.at(instruction)).collect();
    assert_eq!(found, truth, "{interpreter:?}: {line}");
    truth.len()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.trim_end_matches('-').as_bytes().chunks_exact(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn every_line_is_the_one_that_each_interpreter_says() {
    for version in VERSIONS {
        let interpreters = installed(version);
        if interpreters.is_empty() {
            not_run(version);
        }
        for interpreter in interpreters {
            let instructions = compare(&interpreter);
            assert!(instructions > 20_000, "{interpreter:?}: only {instructions} instructions");
        }
    }
}

#[test]
fn every_line_is_the_one_that_the_interpreter_of_the_machine_says() {
    let output =
        Command::new("python3").args(["-c", "import sys; print(sys.version_info[:2] >= (3, 8))"]).output();
    match output {
        Ok(output) if output.stdout.starts_with(b"True") => assert!(compare(Path::new("python3")) > 20_000),
        _ => not_run("python3"),
    }
}

#[test]
fn a_table_that_ends_early_knows_no_line_behind_its_end() {
    assert_eq!(Lines { kind: LineTable::Ranges, table: &[4, 1], first_line: 10 }.at(2), 0);
    assert_eq!(Lines { kind: LineTable::Locations, table: &[0x80, 0], first_line: 10 }.at(1), 0);
    // The oldest one says where lines begin, and the last goes on.
    assert_eq!(Lines { kind: LineTable::Deltas, table: &[4, 1], first_line: 10 }.at(900), 11);
}

#[test]
fn a_line_below_the_first_of_the_file_is_unknown() {
    assert_eq!(Lines { kind: LineTable::Deltas, table: &[0, 0x81], first_line: 3 }.at(0), 0);
}

proptest! {
    #[test]
    fn a_table_of_any_bytes_gives_an_answer(
        kind in 1u32..4,
        table in prop::collection::vec(any::<u8>(), 0..300),
        first_line: u32,
        instruction: u32,
    ) {
        let lines = Lines { kind: LineTable::from_number(kind).unwrap(), table: &table, first_line };
        lines.at(instruction);
        lines.at(instruction % 200);
    }
}
