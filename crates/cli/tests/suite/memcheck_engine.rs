//! Values that were never set, found by Valgrind as the engine: as the program itself says, and nothing for its healthy twin.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::harness::{Folder, Heaplens, Report, program_with, skip};
use crate::lost_by_tensorflow::flags_of_tensorflow;
use crate::python::script;

const OPERATIONS: &str = include_str!("../../../../tests/programs/erring_operations.cpp");

/// Kind, line, and the line where the value was created.
type Row = (String, u64, u64);

fn is_missing(test: &str) -> bool {
    let is_missing = !Path::new("/usr/bin/valgrind").exists();
    if is_missing {
        skip(test, "valgrind is not on this machine");
    }
    is_missing
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a command under `heaplens memcheck` with these options: how it went, and the report.
fn checked(options: &[&str], command: &mut dyn FnMut(&mut Command)) -> (Output, Value) {
    let folder = Folder::new();
    let json = folder.file("errors.json");
    let mut heaplens = Heaplens::bare(["memcheck", "--json"]);
    let heaplens = heaplens.arg(&json).args(options);
    command(heaplens);
    let output = heaplens.output().expect("heaplens starts");
    let bytes = std::fs::read(json).unwrap_or_else(|_| panic!("no report: {}", words(&output)));
    (output, Report::parse(&bytes).whole())
}

/// The line of the innermost frame of a source, 0 where there is none.
fn line(stack: &Value, source: &str) -> u64 {
    let frames = stack.as_array().expect("a stack");
    let is_own = |frame: &&Value| frame["file"].as_str().is_some_and(|file| file.ends_with(source));
    frames.iter().find(is_own).map_or(0, |frame| frame["line"].as_u64().expect("a line"))
}

fn found(report: &Value, source: &str) -> Vec<Row> {
    let row = |error: &Value| {
        let kind = error["kind"].as_str().expect("a kind").to_owned();
        (kind, line(&error["stack"], source), line(&error["origin"], source))
    };
    let mut rows: Vec<Row> = report["errors"].as_array().expect("errors").iter().map(row).collect();
    rows.sort();
    rows
}

/// `error KIND LINE OTHER_LINE`, as programs say it.
fn truth(output: &[u8]) -> Vec<Row> {
    let row = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        ["error", kind, line, other] => {
            Some((kind.to_owned(), line.parse().expect("a line"), other.parse().expect("a line")))
        }
        _ => None,
    };
    let mut rows: Vec<Row> = String::from_utf8_lossy(output).lines().filter_map(row).collect();
    rows.sort();
    rows
}

fn unset_values(optimisation: &str) -> PathBuf {
    program_with("unset_values.c", &format!("unset_values{optimisation}"), &[optimisation])
        .expect("an ordinary program compiles")
}

#[test]
fn every_use_of_an_unset_value_is_reported_at_its_line_with_its_origin_and_nothing_of_healthy_programs() {
    let test = "memcheck_engine::every_use_of_an_unset_value_is_reported_at_its_line_with_its_origin_and_nothing_of_healthy_programs";
    if is_missing(test) {
        return;
    }
    for optimisation in ["-O0", "-O2"] {
        let program = unset_values(optimisation);
        let (output, report) = checked(&["--track-origins=yes"], &mut |command| {
            command.arg(&program);
        });
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        let truth = truth(&output.stdout);
        assert_eq!(truth.len(), 7, "the program speaks, and once");
        assert_eq!(found(&report, "unset_values.c"), truth, "{optimisation}");
        assert!(report["lost"]["not_done"].is_null() && report["engine"]["incomplete"].is_null(), "{report}");
        let (output, report) = checked(&["--track-origins=yes", "--error-exitcode=9"], &mut |command| {
            command.arg(&program).arg("healthy");
        });
        assert_eq!(
            (output.status.code(), found(&report, "unset_values.c")),
            (Some(0), vec![]),
            "{optimisation}"
        );
    }
}

#[test]
fn users_are_told_that_the_program_runs_twice_and_its_output_is_theirs_once() {
    let test = "memcheck_engine::users_are_told_that_the_program_runs_twice_and_its_output_is_theirs_once";
    if is_missing(test) {
        return;
    }
    let program = unset_values("-O0");
    let mut command = Heaplens::bare(["memcheck", "--undef-value-errors=yes", "--error-exitcode=9"]);
    let output = command.arg(&program).output().expect("heaplens starts");
    let text = words(&output);
    assert_eq!(output.status.code(), Some(9), "{text}");
    assert!(text.contains("the program runs twice") && text.contains("--engine=valgrind-only"), "{text}");
    assert!(text.contains("Conditional jump or move depends on uninitialised value(s)"), "{text}");
    assert!(!text.contains("was created by"), "origins are for --track-origins=yes: {text}");
    let mut command = Heaplens::bare(["memcheck", "--engine=valgrind-only", "--track-origins=yes"]);
    let alone = command.arg(&program).output().expect("heaplens starts");
    assert_eq!(truth(&alone.stdout), truth(&output.stdout), "the output is that of one run");
    let text = words(&alone);
    assert!(!text.contains("runs twice") && !text.contains("HEAP SUMMARY"), "{text}");
    assert!(text.contains("Uninitialised value was created by a stack allocation"), "{text}");
}

/// What a second run reads: the same file again, and nothing of what came through a pipe.
#[test]
fn a_second_run_reads_the_same_file_and_nothing_of_a_pipe() {
    let test = "memcheck_engine::a_second_run_reads_the_same_file_and_nothing_of_a_pipe";
    if is_missing(test) {
        return;
    }
    let folder = Folder::new();
    let (input, copy) = (folder.file("input"), folder.file("copy"));
    std::fs::write(&input, "a line\n").expect("a file");
    let script = format!("cat >> {}", copy.display());
    let run = |input: std::process::Stdio| {
        let mut command = Heaplens::bare(["memcheck", "--engine=valgrind", "sh", "-c", &script]);
        words(&command.stdin(input).output().expect("heaplens starts"))
    };
    let said = run(File::open(&input).expect("it is there").into());
    assert!(said.contains("the same file again"), "{said}");
    assert_eq!(std::fs::read_to_string(&copy).expect("a copy"), "a line\na line\n");
    std::fs::remove_file(&copy).expect("it is there");
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    std::io::Write::write_all(&mut writer, b"a line\n").expect("there is room");
    drop(writer);
    let said = run(reader.into());
    assert!(said.contains("/dev/null"), "{said}");
    assert_eq!(std::fs::read_to_string(&copy).expect("a copy"), "a line\n");
}

#[test]
fn a_python_program_has_no_errors_of_its_interpreter() {
    let test = "memcheck_engine::a_python_program_has_no_errors_of_its_interpreter";
    if is_missing(test) || !Path::new("/usr/bin/python3").exists() {
        return skip(test, "valgrind or python3 is not on this machine");
    }
    // The number 0 in its many ways: what CPython makes of its unset digit counts as unset.
    let code = "import ctypes\nfor number in (int.from_bytes(bytes(8), 'little'), int('0' * 9), 5 & 2):\n    [1, 2][number]\n    ctypes.string_at(b'x', number)";
    let (output, report) = checked(&["--track-origins=yes", "--error-exitcode=9"], &mut |command| {
        command.args(["/usr/bin/python3", "-c", code]);
    });
    assert_eq!(report["errors"].as_array().map(Vec::len), Some(0), "{}", report["errors"]);
    assert_eq!(report["engine"]["incomplete"], Value::Null, "{}", report["engine"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
}

#[test]
fn what_is_suppressed_by_a_file_of_valgrinds_is_counted_by_name() {
    let test = "memcheck_engine::what_is_suppressed_by_a_file_of_valgrinds_is_counted_by_name";
    if is_missing(test) {
        return;
    }
    let folder = Folder::new();
    let (known, other) = (folder.file("known.supp"), folder.file("other.supp"));
    std::fs::write(&known, "{\n   known <here>\n   Memcheck:Cond\n   fun:again_and_again\n}\n")
        .expect("a file");
    std::fs::write(&other, "leak:of_the_sanitizer\n").expect("a file");
    let options = [&known, &other].map(|path| format!("--suppressions={}", path.display()));
    let options = ["--track-origins=yes", &options[0], &options[1]];
    let (output, report) = checked(&options, &mut |command| {
        command.arg(unset_values("-O0"));
    });
    let text = words(&output);
    assert_eq!(report["errors"].as_array().map(Vec::len), Some(6), "{text}");
    assert_eq!(report["engine"]["suppressed"], serde_json::json!([{ "name": "known <here>", "count": 3 }]));
}

#[test]
fn leaks_are_valgrinds_own_where_it_alone_runs() {
    let test = "memcheck_engine::leaks_are_valgrinds_own_where_it_alone_runs";
    if is_missing(test) {
        return;
    }
    let program =
        program_with("leak_kinds.cpp", "leak_kinds", &["-O0"]).expect("an ordinary program compiles");
    let options =
        ["--engine=valgrind-only", "--leak-check=full", "--show-leak-kinds=definite", "--error-exitcode=9"];
    let (output, report) = checked(&options, &mut |command| {
        command.arg(&program);
    });
    let text = words(&output);
    assert_eq!(output.status.code(), Some(9), "{text}");
    assert_eq!(report["lost"], Value::Null, "Heaplens itself searched for none");
    let leaks = report["engine"]["leaks"].as_array().expect("leaks");
    assert!(!leaks.is_empty() && leaks.iter().all(|leak| leak["kind"] == "Leak_DefinitelyLost"), "{text}");
    assert!(text.contains("Leaks by Valgrind") && text.contains("definitely lost in loss record"), "{text}");
}

#[test]
fn without_valgrind_its_package_is_named_and_nothing_runs() {
    let folder = Folder::new();
    let mark = folder.file("mark");
    for option in ["--track-origins=yes", "--engine=valgrind-only", "--undef-value-errors=yes"] {
        let mut command = Heaplens::bare(["memcheck", option, "/usr/bin/touch"]);
        let output = command.arg(&mark).env("PATH", folder.path()).output().expect("heaplens starts");
        let text = words(&output);
        assert_eq!(output.status.code(), Some(125), "{text}");
        assert!(
            text.contains("Valgrind is not installed") && text.contains("apt install valgrind"),
            "{text}"
        );
        assert!(!mark.exists(), "{option}");
    }
}

#[test]
fn options_that_contradict_each_other_are_errors_before_anything_runs() {
    for (options, word) in [
        (["--track-origins=yes", "--undef-value-errors=no"], "no effect"),
        (["--track-origins=yes", "--engine=heaplens"], "uninitialized"),
        (["--track-origins=perhaps", "--quiet"], "yes or no"),
    ] {
        let mut command = Heaplens::bare(["memcheck"]);
        let output = command.args(options).arg("/bin/true").output().expect("heaplens starts");
        let text = words(&output);
        assert!(output.status.code() == Some(125) && text.contains(word), "{options:?}: {text}");
    }
}

/// Kind and line of each error, and that of the allocation.
fn found_accesses(report: &Value, source: &str) -> Vec<Row> {
    let row = |error: &Value| {
        let kind = error["kind"].as_str().expect("a kind").to_owned();
        (kind, line(&error["stack"], source), line(&error["allocated"], source))
    };
    let mut rows: Vec<Row> = report["errors"].as_array().expect("errors").iter().map(row).collect();
    rows.sort();
    rows
}

#[test]
fn invalid_accesses_are_reported_at_their_lines_with_those_of_the_blocks() {
    let test = "memcheck_engine::invalid_accesses_are_reported_at_their_lines_with_those_of_the_blocks";
    if is_missing(test) {
        return;
    }
    for optimisation in ["-O0", "-O2"] {
        let name = format!("invalid_accesses{optimisation}");
        let program = program_with("invalid_accesses.c", &name, &[optimisation]).expect("it compiles");
        let (output, report) = checked(&["--engine=valgrind"], &mut |command| {
            command.arg(&program);
        });
        let truth = truth(&output.stdout);
        assert_eq!(truth.len(), 4, "the program speaks, and once");
        assert_eq!(found_accesses(&report, "invalid_accesses.c"), truth, "{optimisation}");
        let (_, report) = checked(&["--engine=valgrind"], &mut |command| {
            command.arg(&program).arg("healthy");
        });
        assert_eq!(
            report["errors"].as_array().map(Vec::len),
            Some(0),
            "{optimisation}: {}",
            report["errors"]
        );
    }
}

#[test]
fn bad_frees_that_both_engines_find_are_reported_once() {
    let test = "memcheck_engine::bad_frees_that_both_engines_find_are_reported_once";
    if is_missing(test) {
        return;
    }
    let program =
        program_with("bad_frees.cpp", "bad_frees_twice", &["-O0"]).expect("an ordinary program compiles");
    for (case, number) in [("double_free", 1), ("mismatches", 7), ("healthy", 0)] {
        let (output, report) = checked(&["--engine=valgrind"], &mut |command| {
            command.arg(&program).arg(case);
        });
        let errors = report["errors"].as_array().expect("errors");
        assert!(errors.iter().all(|error| error["engine"] == "heaplens"), "{case}: {}", words(&output));
        assert_eq!(errors.len(), number, "{case}: {}", words(&output));
    }
}

/// `// error KIND`, as the lines of the source say it.
fn errors_of_operations() -> Vec<(String, u64)> {
    let said = OPERATIONS.lines().zip(1..);
    let mut said: Vec<(String, u64)> =
        said.filter_map(|(text, line)| Some((text.split_once("// error ")?.1.to_owned(), line))).collect();
    said.sort();
    said
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn operations_of_tensorflow_have_the_errors_that_their_lines_say_and_tensorflow_none() {
    let test =
        "memcheck_engine::operations_of_tensorflow_have_the_errors_that_their_lines_say_and_tensorflow_none";
    let Some(python) = std::env::var_os("HEAPLENS_TENSORFLOW_PYTHON").map(PathBuf::from) else {
        return skip(test, "HEAPLENS_TENSORFLOW_PYTHON names no Python with TensorFlow");
    };
    if is_missing(test) {
        return;
    }
    let flags = flags_of_tensorflow(&python);
    let flags: Vec<&str> = ["-shared", "-fPIC", "-O1"].into_iter().chain(flags.lines()).collect();
    let library =
        program_with("erring_operations.cpp", "liberring_operations.so", &flags).expect("it compiles");
    let (output, report) = checked(&["--track-origins=yes"], &mut |command| {
        command.env("TF_CPP_MIN_LOG_LEVEL", "3").arg(&python).arg(script("leaking_operations.py"));
        command.arg(&library).args(["2", "writes_behind", "reads_freed", "uses_unset", "makes_no_error"]);
    });
    assert!(output.status.success(), "{}", words(&output));
    let found: Vec<(String, u64)> =
        found(&report, "erring_operations.cpp").into_iter().map(|(kind, line, _)| (kind, line)).collect();
    assert_eq!(found, errors_of_operations(), "{}", words(&output));
    assert!(errors_of_operations().len() == 3 && report["engine"]["incomplete"].is_null());
}
