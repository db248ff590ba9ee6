//! References that native code takes to objects of Python: given back, or forgotten.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::interpreters::{self, Interpreter};
use super::script;
use crate::harness::{Finished, Folder, Heaplens, Report, skip};

fn recorded(python: &Interpreter, kind: &str) -> Finished {
    Heaplens::on(&python.path, &[]).arg(script("python_references.py")).arg(kind).finish().expect_status(0)
}

fn findings(run: &Finished) -> Vec<Value> {
    run.report().0["findings"].as_array().expect("findings").clone()
}

fn assert_found(python: &Interpreter, kind: &str) -> Value {
    assert_as_said(python, &recorded(python, kind))
}

/// One finding explains all growth: the rule, the line and the pace that the program says.
fn assert_as_said(python: &Interpreter, run: &Finished) -> Value {
    let (said, found) = (run.stdout(), findings(run));
    let truth: Vec<&str> = said.trim().split(' ').collect();
    let ["truth", rule, line, bytes, iterations, ..] = truth[..] else { panic!("{said}") };
    let version = &python.version;
    let rules: Vec<&str> = found.iter().filter_map(|finding| finding["rule"].as_str()).collect();
    assert_eq!(rules, [rule], "Python {version}: {found:#?}");
    assert_eq!(found[0]["location"]["line"].to_string(), line, "Python {version}");
    assert_eq!(run.report().0["iterations"]["count"].to_string(), iterations, "Python {version}");
    let truth: f64 = bytes.parse().expect("a number");
    let pace = found[0]["bytes_per_iteration"].as_f64().expect("a number");
    assert!((pace - truth).abs() <= 0.1 * truth, "Python {version}: {pace} and not {truth}");
    found[0].clone()
}

#[test]
fn objects_without_referrers_are_reported_as_reference_leaks() {
    for python in
        interpreters::some("python::references::objects_without_referrers_are_reported_as_reference_leaks")
    {
        let finding = assert_found(&python, "forgotten");
        assert_eq!(finding["holder"]["path"][0], "no one: only its reference count", "{}", python.version);
    }
}

#[test]
fn objects_that_the_program_keeps_are_its_own() {
    for python in interpreters::some("python::references::objects_that_the_program_keeps_are_its_own") {
        assert_found(&python, "listed");
    }
}

#[test]
fn references_that_are_given_back_are_clean() {
    for python in interpreters::some("python::references::references_that_are_given_back_are_clean") {
        assert_eq!(findings(&recorded(&python, "returned")), Vec::<Value>::new(), "{}", python.version);
    }
}

const INCLUDE: &str = "import sysconfig; print(sysconfig.get_paths()['include'])";
const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python");
const EXTENSION: &str = "forgets.so";

/// Compiles the extension module into a folder; whether this interpreter has the headers for it.
fn compiled(python: &Path, folder: &Folder) -> bool {
    let said = Command::new(python).args(["-c", INCLUDE]).output().expect("it starts").stdout;
    let include = Path::new(String::from_utf8_lossy(&said).trim()).to_owned();
    if !include.join("Python.h").exists() {
        return false;
    }
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-g", "-shared", "-fPIC", "-I"]).arg(&include);
    // Debian's headers include those of the architecture from beside their folder.
    compiler.arg("-idirafter").arg(include.join("..")).arg(script("forgets.c"));
    let built = compiler.arg("-o").arg(folder.file(EXTENSION)).output().expect("cc starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    true
}

/// Has every interpreter checked that can have an extension module, with the folders of that and of the package.
fn with_extension(test: &str, check: impl Fn(&Interpreter, &str)) {
    for python in interpreters::all(test) {
        let folder = Folder::new();
        if compiled(&python.path, &folder) {
            check(&python, &format!("{}:{PACKAGE}", folder.path().display()));
        } else {
            skip(&format!("{test} on {}", python.path.display()), "it has no headers");
        }
    }
}

fn run_extension(python: &Interpreter, modules: &str, kind: &[&str]) -> Finished {
    let run = Heaplens::on(&python.path, &[]).arg(script("python_extension.py"));
    let run = kind.iter().fold(run, |run, word| run.arg(word));
    run.env("PYTHONPATH", modules).finish().expect_status(0)
}

#[test]
fn bytes_that_an_extension_forgets_are_held_by_nobody_and_it_is_named() {
    let test = "python::references::bytes_that_an_extension_forgets_are_held_by_nobody_and_it_is_named";
    with_extension(test, |python, modules| {
        let run = run_extension(python, modules, &["forgotten"]);
        let (found, page) = (assert_as_said(python, &run), run.stderr());
        let what = format!("Python {}: {found:#?}\n{page}", python.version);
        let fix = found["fix"].as_str().expect(&what);
        assert!(fix.starts_with("nobody holds it: a missing Py_DECREF in forgets.so"), "{what}");
        assert!(page.contains("Nobody holds it: a missing Py_DECREF in forgets.so"), "{what}");
        assert_eq!(
            found["holder"]["path"],
            serde_json::json!(["no one: only its reference count"]),
            "{what}"
        );
        let all = found["evidence"].as_array().expect(&what);
        let part = all.iter().find(|one| one["what"] == "part that nobody held while it grew");
        // Old words in stacks and freed memory seem to hold some.
        assert!(part.is_some_and(|part| part["value"].as_f64() > Some(0.9)), "{what}");
    });
}

#[test]
fn what_an_extension_forgets_is_seen_without_a_snapshot_of_the_programs() {
    let test = "python::references::what_an_extension_forgets_is_seen_without_a_snapshot_of_the_programs";
    with_extension(test, |python, modules| {
        let found = assert_as_said(python, &run_extension(python, modules, &["forgotten", "unseen"]));
        assert!(found["fix"].as_str().is_some_and(|fix| fix.contains("in forgets.so")), "{found:#?}");
    });
}

#[test]
fn bytes_of_an_extension_that_the_program_keeps_are_its_own() {
    let test = "python::references::bytes_of_an_extension_that_the_program_keeps_are_its_own";
    with_extension(test, |python, modules| {
        let found = assert_as_said(python, &run_extension(python, modules, &["kept"]));
        let path = found["holder"]["path"].as_array().expect("a path");
        assert!(path.iter().any(|step| step.as_str().is_some_and(|step| step.contains("KEPT"))), "{path:?}");
    });
}

#[test]
fn bytes_that_an_extension_releases_are_clean() {
    let test = "python::references::bytes_that_an_extension_releases_are_clean";
    with_extension(test, |python, modules| {
        let run = run_extension(python, modules, &["released"]);
        assert_eq!(findings(&run), Vec::<Value>::new(), "{}", python.version);
    });
}

/// Bytes and blocks that no one holds, as `memcheck` has them, and the number of objects and the size of one that the program says.
fn unreferenced(python: &Interpreter, modules: &str, kind: &str) -> ([u64; 2], [u64; 2]) {
    let folder = Folder::new();
    let json = folder.file("lost.json");
    let mut command = Heaplens::bare(["memcheck", "--json"]);
    command.arg(&json).arg(&python.path).arg(script("python_extension.py")).args([kind, "unseen"]);
    let output = command.env("PYTHONPATH", modules).output().expect("heaplens starts");
    let (said, page) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{page}");
    let report = Report::parse(&std::fs::read(json).expect("a report")).0;
    let number = |field: &str| report["lost"]["unreferenced"][field].as_u64().expect("a number");
    let words: Vec<u64> = said.split_whitespace().skip(2).filter_map(|word| word.parse().ok()).collect();
    let [_, size, _, count] = words[..] else { panic!("{said}") };
    let row = page.lines().any(|line| line.trim().starts_with("unreferenced Python objects: "));
    assert_eq!(row, number("blocks") > 0, "{page}");
    ([number("bytes"), number("blocks")], [count, size])
}

#[test]
fn memcheck_sums_up_the_objects_that_no_one_holds() {
    let test = "python::references::memcheck_sums_up_the_objects_that_no_one_holds";
    with_extension(test, |python, modules| {
        // The interpreter has a few small ones of its own.
        let ([base, _], [none, _]) = unreferenced(python, modules, "released");
        assert!(none == 0 && base < 10_000, "Python {}: {base}", python.version);
        let ([bytes, blocks], [count, size]) = unreferenced(python, modules, "forgotten");
        // An old word in a stack or in freed memory may seem to hold the last ones.
        let range = (count - 2) * size..=count * size + base;
        assert!(range.contains(&bytes), "Python {}: {bytes} in {blocks}, not {range:?}", python.version);
    });
}
