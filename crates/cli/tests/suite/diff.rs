//! `heaplens diff`: what changed from one recording to another, and between two moments of one, by programs that say what it is.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::harness::{Finished, Folder, Heaplens, program};
use crate::python::{interpreters, script};

fn on_python(name: &str, words: &[&str]) -> Finished {
    let run = Heaplens::on(interpreters::any(), &["-q"]).arg(script(name));
    words.iter().fold(run, |run, word| run.arg(word)).finish().expect_status(0)
}

fn diff(words: &[&dyn AsRef<OsStr>]) -> Output {
    words
        .iter()
        .fold(&mut Heaplens::bare(["diff"]), |command, word| command.arg(word))
        .output()
        .expect("heaplens starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn parsed(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let value: Value = serde_json::from_slice(&output.stdout).expect("the comparison is JSON");
    assert_eq!(value["schema"], "heaplens-diff/1");
    value
}

fn between(from: &Path, to: &Path) -> Value {
    parsed(&diff(&[&from, &to, &"--format", &"json"]))
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The change of a line in its native layer.
fn native(diff: &Value, file: &str, line: u64) -> Option<Value> {
    let is_it = |one: &&Value| {
        let location = &one["location"];
        location["file"].as_str().is_some_and(|path| path.ends_with(file)) && location["line"] == line
    };
    let found = array(&diff["lines"]).iter().find(is_it)?;
    array(&found["layers"]).iter().find(|layer| layer["layer"] == "native").cloned()
}

/// What `python_grows.py` says: bytes of an iteration, and the line.
fn growth(run: &Finished) -> (u64, u64) {
    let stdout = run.stdout();
    let mut words =
        stdout.lines().find_map(|line| line.strip_prefix("grows ")).expect("it says so").split(' ');
    let mut number = || words.next().and_then(|word| word.parse().ok()).expect("a number");
    (number(), number())
}

#[test]
fn more_iterations_are_so_many_blocks_more_at_their_line() {
    let [few, many] = ["40", "100"].map(|iterations| on_python("python_grows.py", &[iterations]));
    let (size, line) = growth(&few);
    for (from, to, iterations) in [(&few, &many, 60i64), (&many, &few, -60)] {
        let diff = between(&from.recording(), &to.recording());
        let change = native(&diff, "python_grows.py", line).unwrap_or_else(|| panic!("no such line: {diff}"));
        assert_eq!(change["blocks"], iterations, "{change}");
        assert_eq!(change["bytes"], iterations * size as i64, "{change}");
        assert_eq!(change["bytes_margin"], Value::Null, "every block was seen");
        assert_eq!(array(&diff["lines"])[0]["location"]["line"], line, "the largest is the first: {diff}");
    }
}

#[test]
fn a_recording_does_not_differ_from_itself() {
    let run = Heaplens::on(&program("sampled.c"), &["-q"]).finish().expect_status(0);
    let diff = between(&run.recording(), &run.recording());
    assert_eq!(diff["lines"], Value::Array(vec![]));
    assert_eq!(diff["totals"]["heap"]["bytes"], 0);
    assert_eq!(array(&diff["notes"]), &[] as &[Value]);
    assert!(diff["lines_unchanged"].as_u64().is_some_and(|lines| lines > 0));
}

/// `(label, bytes)` of each mark, and the line.
fn marks(run: &Finished) -> (u64, Vec<(String, i64)>) {
    let stdout = run.stdout();
    let mut line = 0;
    let marks = stdout.lines().filter_map(|said| {
        let mut words = said.strip_prefix("marked ")?.splitn(3, ' ');
        line = words.next()?.parse().ok()?;
        let bytes = words.next()?.parse().ok()?;
        Some((words.next()?.to_owned(), bytes))
    });
    let marks = marks.collect();
    (line, marks)
}

#[test]
fn between_two_marks_a_line_grew_by_what_it_took_between_them() {
    let run = on_python("python_marks.py", &[]);
    let (line, marks) = marks(&run);
    assert_eq!(marks.len(), 3, "{}", run.stdout());
    let last = marks.last().expect("there are three").1;
    let mut moments = vec![("start".to_owned(), 0)];
    moments.extend(marks);
    moments.push(("end".to_owned(), last));
    for (at, from) in moments.iter().enumerate() {
        for to in &moments[at..] {
            let words: [&dyn AsRef<OsStr>; 7] =
                [&run.recording(), &"--from", &from.0, &"--to", &to.0, &"--format", &"json"];
            let diff = parsed(&diff(&words));
            let change = native(&diff, "python_marks.py", line)
                .map_or(0, |change| change["bytes"].as_i64().expect("a number"));
            assert_eq!(change, to.1 - from.1, "from {} to {}: {diff}", from.0, to.0);
        }
    }
}

#[test]
fn between_two_iterations_a_line_grew_by_so_many_blocks() {
    let run = on_python("python_grows.py", &["60"]);
    let (size, line) = growth(&run);
    let words: [&dyn AsRef<OsStr>; 7] =
        [&run.recording(), &"--from", &"pass:10", &"--to", &"pass:30", &"--format", &"json"];
    let diff = parsed(&diff(&words));
    let moments = [&diff["from"]["moment"], &diff["to"]["moment"]].map(|moment| {
        let word = moment.as_str().and_then(|name| name.strip_prefix("pass ")).expect("an iteration");
        word.parse::<i64>().expect("a number")
    });
    let change = native(&diff, "python_grows.py", line).expect("the line grew");
    assert_eq!(change["bytes"], (moments[1] - moments[0]) * size as i64, "{diff}");
}

#[test]
fn a_line_that_moved_in_another_checkout_is_the_same_line() {
    let folder = Folder::new();
    let source = std::fs::read_to_string(script("python_grows.py")).expect("it is part of the repository");
    let checkout = |name: &str, text: &str| {
        std::fs::create_dir(folder.file(name)).expect("the folder is writable");
        let path = folder.file(name).join("grows.py");
        std::fs::write(&path, text).expect("the folder is writable");
        path
    };
    let moved = source.replace("SIZE = 12345\n", "SIZE = 12345\n\n\n# moved\n");
    let record = |path: &Path, iterations: &str| {
        Heaplens::on(interpreters::any(), &["-q"]).arg(path).arg(iterations).finish().expect_status(0)
    };
    let from = record(&checkout("one", &source), "30");
    let to = record(&checkout("two", &moved), "50");
    let ((size, before), (_, after)) = (growth(&from), growth(&to));
    let diff = between(&from.recording(), &to.recording());
    let change = native(&diff, "two/grows.py", after).unwrap_or_else(|| panic!("no such line: {diff}"));
    assert_eq!(change["bytes"], 20 * size as i64, "{diff}");
    let line = &array(&diff["lines"])[0];
    assert_eq!(line["was"]["line"], before);
    assert_eq!(line["source"], "malloc(SIZE)");
}

#[test]
fn what_cannot_be_compared_is_said_and_the_rest_is_compared() {
    let exact = Heaplens::on(&program("sampled.c"), &["-q"]).finish().expect_status(0);
    let sampled = Heaplens::on(&program("sampled.c"), &["-q", "--sample", "4KiB"]).finish().expect_status(0);
    let other = Heaplens::on(&program("basic.cpp"), &["-q"]).finish();
    let page = text(&diff(&[&exact.recording(), &sampled.recording()]).stdout);
    assert!(
        page.contains("the first was recorded exactly, the second sampled every 4.00 KiB on average"),
        "{page}"
    );
    assert!(page.contains("Totals"), "{page}");
    let diff = between(&exact.recording(), &other.recording());
    let notes: Vec<&str> = array(&diff["notes"]).iter().filter_map(|note| note["what"].as_str()).collect();
    assert_eq!(notes, ["other-programs"]);
    assert!(!array(&diff["lines"]).is_empty(), "what one has and the other has not");
}

#[test]
fn a_moment_that_is_not_there_is_refused_with_those_that_are() {
    let run = on_python("python_marks.py", &[]);
    let refused = diff(&[&run.recording(), &"--from", &"warm"]);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(125), "{said}");
    assert!(
        said.contains("no mark is called 'warm'") && said.contains("behind 1000, behind 20000"),
        "{said}"
    );
    let alone = diff(&[&run.recording()]);
    assert!(text(&alone.stderr).contains("nothing to compare the recording with"), "{}", text(&alone.stderr));
}
