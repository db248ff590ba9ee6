//! Suppressions that are written for what was found: each means its own record and no other, here and in Valgrind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Folder, Heaplens, Report, program_with, skip};

const FULL: [&str; 3] = ["memcheck", "--leak-check=full", "--show-leak-kinds=all"];

/// Bytes and blocks.
type Amount = (u64, u64);

fn stderr_of(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `  3  1,440 B in 10 blocks definitely lost, plus …`.
fn headline(line: &str) -> Option<Amount> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |word: &str| word.replace(',', "").parse::<u64>().ok();
    match words[..] {
        [rank, bytes, "B", "in", blocks, "block" | "blocks", _, ..] => {
            number(rank)?;
            Some((number(bytes)?, number(blocks)?))
        }
        _ => None,
    }
}

/// The blocks on a page, and what the records before them had.
fn written(page: &str) -> BTreeMap<String, Amount> {
    let mut blocks = BTreeMap::<String, Amount>::new();
    let (mut amount, mut open) = (None, None::<String>);
    for line in page.lines() {
        amount = headline(line).or(amount);
        match (line, &mut open) {
            ("{", _) => open = Some("{\n".to_owned()),
            ("}", Some(_)) => {
                let (bytes, count) = amount.take().expect("a record goes before");
                let sum = blocks.entry(open.take().expect("it is open") + "}\n").or_default();
                *sum = (sum.0 + bytes, sum.1 + count);
            }
            (frame, Some(block)) => *block += &format!("{frame}\n"),
            _ => {}
        }
    }
    blocks
}

fn leak_kinds() -> PathBuf {
    program_with("leak_kinds.cpp", "leak_kinds", &["-O0"]).expect("an ordinary program compiles")
}

fn of_program(program: &Path) -> BTreeMap<String, Amount> {
    let mut command = Heaplens::bare(FULL);
    let page = stderr_of(
        command
            .args(["--gen-suppressions=all", "--num-callers=20", "--default-suppressions=no"])
            .arg(program),
    );
    let written = written(&page);
    assert!(written.len() > 3, "{page}");
    written
}

/// What a file of suppressions leaves out of the report.
fn suppressed_by(block: &str, program: &Path, folder: &Folder) -> Amount {
    let (file, json) = (folder.file("known.supp"), folder.file("left.json"));
    std::fs::write(&file, block).expect("the folder is writable");
    let mut command = Heaplens::bare(["memcheck", "--default-suppressions=no", "--json"]);
    stderr_of(command.arg(&json).arg("--suppressions").arg(&file).arg(program));
    let report = Report::parse(&std::fs::read(json).expect("a report")).0;
    let number = |field: &str| report["lost"]["suppressed"][field].as_u64().expect("a number");
    (number("bytes"), number("blocks"))
}

#[test]
fn a_suppression_that_was_written_means_its_records_and_no_other() {
    let (folder, program) = (Folder::new(), inlined());
    for (block, amount) in of_program(&program) {
        assert_eq!(suppressed_by(&block, &program, &folder), amount, "{block}");
    }
}

fn inlined() -> PathBuf {
    program_with("leaks_inlined.cpp", "leaks_inlined", &[]).expect("an ordinary program compiles")
}

/// Records of Memcheck that a file of suppressions leaves.
fn left_by_valgrind(file: &Path, program: &Path) -> Vec<String> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args([
        "--leak-check=full",
        "--show-leak-kinds=all",
        "--num-callers=20",
        "--run-libc-freeres=no",
    ]);
    let text = stderr_of(
        valgrind.arg("--run-cxx-freeres=no").arg(format!("--suppressions={}", file.display())).arg(program),
    );
    let is_record = |line: &&str| line.contains(" in loss record ");
    text.lines().filter(is_record).map(str::to_owned).collect()
}

#[test]
fn valgrind_reads_what_was_written_and_has_nothing_left() {
    let test = "memcheck_suppressions::valgrind_reads_what_was_written_and_has_nothing_left";
    if !Path::new("/usr/bin/valgrind").exists() {
        return skip(test, "valgrind is not on this machine");
    }
    let folder = Folder::new();
    for program in [leak_kinds(), inlined()] {
        let written = of_program(&program);
        let all: String = written.keys().map(String::as_str).collect();
        let (file, none) = (folder.file("all.supp"), folder.file("none.supp"));
        std::fs::write(&file, all).and_then(|()| std::fs::write(&none, "")).expect("it is writable");
        assert_eq!(left_by_valgrind(&file, &program), Vec::<String>::new());
        let before = left_by_valgrind(&none, &program);
        let (one, amount) = written.iter().next().expect("there is one");
        std::fs::write(&file, one).expect("it is writable");
        let left = left_by_valgrind(&file, &program);
        assert!(left.len() < before.len() && !left.is_empty(), "{one} {amount:?}: {left:?}");
    }
}
