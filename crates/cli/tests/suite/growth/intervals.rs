//! Native programs that make no marks: each line is known over time all the same, by marks of the recorder's own.

use heaplens_format::recording::{MarkKind, decode};

use super::{Program, Truth};
use crate::harness::{Heaplens, program};

const SOURCE: &str = include_str!("../../../../../tests/programs/without_marks.c");

fn without_marks(mode: &str, truth: Truth) -> Program {
    Program {
        name: format!("without_marks {mode}"),
        command: program("without_marks.c"),
        words: vec![mode.to_owned()],
        truth,
        file: "without_marks.c".into(),
        holder: None,
    }
}

fn line_of_the_leak() -> u64 {
    SOURCE.lines().position(|line| line.ends_with("// the leak")).map_or(0, |at| at as u64 + 1)
}

#[test]
fn a_leak_is_named_beside_a_table_that_holds_far_more() {
    let run = Heaplens::on(&program("without_marks.c"), &["-q"]).arg("leaks").finish().expect_status(0);
    let report = run.report();
    let leaks = without_marks("leaks", Truth::Grows { bytes: 0.0, line: line_of_the_leak() });
    assert_eq!(leaks.wrong(&run, &report), None, "{:#}", report.0);
    let findings = report.0["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 1, "the table does not grow: {findings:#?}");
}

#[test]
fn what_was_built_once_or_changes_hands_is_no_growth() {
    super::try_all(&[without_marks("built", Truth::Bounded), without_marks("moves", Truth::Bounded)], None);
}

#[test]
fn a_program_that_hardly_allocates_is_marked_and_a_python_program_is_not() {
    let marks = |run: Heaplens| {
        let run = run.finish().expect_status(0);
        let recording = std::fs::read(run.recording()).expect("a recording");
        let decoded = decode(&recording).expect("a whole one");
        let marks = decoded.recording.processes.iter().flat_map(|process| &process.marks);
        marks.filter(|mark| mark.kind == MarkKind::Interval).count()
    };
    let native = marks(Heaplens::on(&program("without_marks.c"), &["-q"]).arg("built"));
    assert!((20..=110).contains(&native), "{native} marks in a second and a half");
    let script = "import time\nfor i in range(25): time.sleep(0.02)";
    let python = marks(Heaplens::on(super::python(), &["-q"]).arg("-c").arg(script));
    // Until it is known to be one.
    assert!(python <= 3, "{python} marks in a Python program");
}
