//! Programs that end in every way there is: their leaks are found, or it is said that they are not known; and the programs notice nothing.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::harness::{Folder, Heaplens, Report, besides, program_with, skip};

/// What of the leaks of a program is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// All of them.
    Yes,
    /// Nothing, for a reason with these words.
    No(&'static str),
    /// It became another program, which loses nothing.
    Replaced,
}
use Known::{No, Replaced, Yes};

/// Of a child how it ended is known to its parent alone.
const UNSEEN: Known = No("ended unseen (it may have been killed)");

/// How `last_words.c` may end.
const WAYS: [(&str, Known); 34] = [
    ("return", Yes),
    ("exit", Yes),
    ("_exit", Yes),
    ("_Exit", Yes),
    ("quick_exit", Yes),
    ("syscall", Yes),
    ("raw", No("system call of its own")),
    ("kill", No("SIGKILL")),
    ("abort", Yes),
    ("assert", Yes),
    ("term", Yes),
    ("usr1", Yes),
    ("segv", Yes),
    ("fpe", Yes),
    ("ill", Yes),
    ("trap", Yes),
    ("alternate", Yes),
    // There is no stack on which a handler could run.
    ("overflow", No("SIGSEGV")),
    ("overflow-alternate", Yes),
    ("threads", Yes),
    ("timer", Yes),
    ("pthread_exit", Yes),
    ("leader-gone", Yes),
    ("leader-gone-exit", Yes),
    ("handler-exits", Yes),
    ("handler-dies", Yes),
    ("handler-once", Yes),
    ("abort-dies", Yes),
    // The C library ends it after the handler has returned.
    ("abort-handled", No("SIGABRT")),
    ("abort-back", Yes),
    ("segv-back", Yes),
    ("ignored", Yes),
    ("blocked", Yes),
    ("exec", Replaced),
];

fn last_words(optimisation: &str) -> PathBuf {
    let name = format!("last_words{optimisation}");
    program_with("last_words.c", &name, &[optimisation]).expect("an ordinary program compiles")
}

/// The status as a shell reports it, which is how a recorder hands on the signal of its program.
fn status(output: &Output) -> Option<i32> {
    output.status.code().or_else(|| output.status.signal().map(|signal| 128 + signal))
}

fn memcheck(folder: &Folder, options: &[&str], program: &Path, words: &[&str]) -> (Output, Value) {
    let json = folder.file("lost.json");
    let mut command = Heaplens::bare(["memcheck", "--json"]);
    let output = command.arg(&json).args(options).arg(program).args(words).output();
    let report = Report::parse(&std::fs::read(json).expect("a report")).whole();
    (output.expect("heaplens starts"), report)
}

/// `leak KIND BYTES BLOCKS LINE`, as the program says it: bytes by kind and line.
fn truth(output: &Output) -> BTreeMap<(String, u64), u64> {
    let number = |word: &str| word.parse::<u64>().expect("a number");
    let row = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        ["leak", kind, bytes, _, line] => Some(((kind.to_owned(), number(line)), number(bytes))),
        _ => None,
    };
    String::from_utf8_lossy(&output.stdout).lines().filter_map(row).collect()
}

/// The same as a report has it, of lines of the program.
fn found(lost: &Value) -> BTreeMap<(String, u64), u64> {
    let records = lost["records"].as_array().expect("records");
    let row = |record: &Value| {
        let stack = record["stack"].as_array().expect("a stack");
        let is_own =
            |frame: &&Value| frame["file"].as_str().is_some_and(|file| file.ends_with("last_words.c"));
        let of_libc = stack[0]["module"]
            .as_str()
            .is_some_and(|module| module.contains("libc.so") || module.contains("ld-linux"));
        let line = stack.iter().find(is_own).filter(|_| !of_libc)?["line"].as_u64()?;
        let kind = record["kind"].as_str().expect("a kind").to_owned();
        Some(((kind, line), record["bytes"].as_u64().expect("bytes")))
    };
    records.iter().filter_map(row).collect()
}

/// Whether a leak check says what is known, and nothing else.
fn expect(lost: &Value, known: Known, truth: &BTreeMap<(String, u64), u64>, way: &str) {
    match known {
        Yes => {
            assert!(lost["not_done"].is_null(), "{way}: {}", lost["not_done"]);
            assert_eq!(&found(lost), truth, "{way}");
            let definitely = truth.iter().filter(|((kind, _), _)| kind == "definitely");
            let sum: u64 = definitely.map(|(_, bytes)| bytes).sum();
            assert_eq!(lost["definitely"]["bytes"], sum, "{way}: and nothing else is lost");
        }
        No(words) => {
            assert!(lost["not_done"].as_str().is_some_and(|why| why.contains(words)), "{way}: {lost}");
            assert!(lost["definitely"].is_null(), "{way}: nothing is claimed");
        }
        Replaced => assert_eq!(lost["definitely"]["bytes"], 0, "{way}: {lost}"),
    }
}

#[test]
fn leaks_are_found_at_every_end_and_the_program_ends_as_it_does_alone() {
    let folder = Folder::new();
    for optimisation in ["-O0", "-O2"] {
        let program = last_words(optimisation);
        for (way, known) in WAYS {
            let alone = Command::new(&program).arg(way).output().expect("it starts");
            let (output, report) = memcheck(&folder, &[], &program, &[way]);
            assert_eq!(output.stdout, alone.stdout, "{way}: what it is told of its signals");
            assert_eq!(status(&output), status(&alone), "{way}");
            expect(&report["lost"], known, &truth(&alone), way);
        }
    }
}

#[test]
fn a_child_that_ends_in_any_way_has_its_leaks_in_every_output() {
    let (folder, program) = (Folder::new(), last_words("-O0"));
    for way in ["return", "_exit", "abort", "segv", "term", "kill", "raw"] {
        let known = if ["kill", "raw"].contains(&way) { UNSEEN } else { Yes };
        let alone = Command::new(&program).args(["fork", way]).output().expect("it starts");
        let xml = folder.file("%p.xml");
        let xml = format!("--xml-file={}", xml.display());
        let options = ["--leak-check=full", "--xml=yes", &xml, "--error-exitcode=77"];
        let (output, report) = memcheck(&folder, &options, &program, &["fork", way]);
        assert_eq!((status(&output), &output.stdout), (Some(77), &alone.stdout), "{way}");
        assert_eq!(report["lost"]["definitely"]["bytes"], 0, "{way}: the parent loses nothing");
        let others = report["lost_in_other_processes"].as_array().expect("a list");
        assert_eq!(others.len(), 1, "{way}");
        expect(&others[0]["lost"], known, &truth(&alone), way);
        let child = folder.file(&format!("{}.xml", others[0]["pid"]));
        let text = std::fs::read_to_string(child).expect("a file of its own");
        let is_found = text.contains("<leakedbytes>104</leakedbytes>");
        assert_eq!(is_found, known == Yes, "{way}: {text}");
        assert_eq!(text.contains("<state>FINISHED</state>"), known == Yes, "{way}: {text}");
    }
}

#[test]
fn what_is_not_known_is_no_success() {
    let program = last_words("-O0");
    let run = |options: &[&str], way: &str| {
        let output = Heaplens::bare(["memcheck"]).args(options).arg(&program).arg(way).output();
        let output = output.expect("heaplens starts");
        (status(&output), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, text) = run(&["--error-exitcode=77"], "raw");
    assert!(code == Some(77) && text.contains("No leak check: the process ended by a system call"), "{text}");
    let (code, text) = run(&["-q"], "kill");
    assert!(code == Some(137) && text.contains("SIGKILL ended the process"), "{text}");
    assert_eq!(run(&["--error-exitcode=77", "--leak-check=no"], "raw").0, Some(3));
}

#[test]
fn run_finds_the_leaks_of_a_program_that_aborts_and_says_what_it_does_not_know() {
    let program = last_words("-O2");
    for (way, known) in [("abort", Yes), ("_exit", Yes), ("kill", No("SIGKILL")), ("segv", No("SIGSEGV"))] {
        let alone = Command::new(&program).arg(way).output().expect("it starts");
        let run = Heaplens::on(&program, &[]).arg(way).finish();
        assert_eq!(
            (run.output.stdout.clone(), status(&run.output)),
            (alone.stdout.clone(), status(&alone)),
            "{way}"
        );
        let lost = &run.report().0["lost"];
        match known {
            Yes => assert_eq!(lost["definitely"]["bytes"], 104, "{way}: {lost}"),
            _ => expect(lost, known, &truth(&alone), way),
        }
        let says = run.stderr().contains("No leak check: ");
        assert_eq!(says, known != Yes, "{way}: {}", run.stderr());
    }
}

/// `definitely lost: 104 bytes in 1 blocks`.
fn by_memcheck(program: &Path, way: &str) -> u64 {
    let output = Command::new("valgrind").arg("--leak-check=summary").arg(program).arg(way).output();
    let text = String::from_utf8_lossy(&output.expect("valgrind starts").stderr).into_owned();
    let line = text.lines().find_map(|line| line.split_once("definitely lost: "));
    let bytes = line.and_then(|(_, rest)| rest.split(' ').next()?.replace(',', "").parse().ok());
    bytes.unwrap_or_else(|| panic!("{way}: {text}"))
}

#[test]
fn what_is_lost_at_every_end_is_what_memcheck_says() {
    let test = "memcheck_ends::what_is_lost_at_every_end_is_what_memcheck_says";
    if !Path::new("/usr/bin/valgrind").exists() {
        return skip(test, "valgrind is not on this machine");
    }
    let (folder, program) = (Folder::new(), last_words("-O0"));
    for way in ["abort", "term"].iter().chain(besides(&["exit", "_exit", "segv", "leader-gone", "raw"])) {
        let theirs = by_memcheck(&program, way);
        let (_, report) = memcheck(&folder, &[], &program, &[way]);
        match report["lost"]["definitely"]["bytes"].as_u64() {
            Some(ours) => assert_eq!(ours, theirs, "{way}"),
            None => assert_eq!(*way, "raw", "the one end that Valgrind alone sees"),
        }
    }
}

#[test]
fn faulthandler_writes_its_traceback_and_the_interpreter_dies_as_it_does_alone() {
    let test = "memcheck_ends::faulthandler_writes_its_traceback_and_the_interpreter_dies_as_it_does_alone";
    if !Path::new("/usr/bin/python3").exists() {
        return skip(test, "python3 is not on this machine");
    }
    for code in [
        "import ctypes; ctypes.string_at(8)",
        "import os; os.abort()",
        "import os, signal; os.kill(os.getpid(), 15)",
    ] {
        let words = ["-X", "faulthandler", "-c", code];
        let alone = Command::new("/usr/bin/python3").args(words).output().expect("python starts");
        let folder = Folder::new();
        let log = folder.file("log");
        let log = format!("--log-file={}", log.display());
        let (output, report) = memcheck(&folder, &[&log], Path::new("/usr/bin/python3"), &words);
        assert_eq!(status(&output), status(&alone), "{code}");
        let traceback = |output: &Output| {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            text.lines().filter(|line| !line.contains("0x")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(traceback(&output), traceback(&alone), "{code}");
        assert!(report["lost"]["not_done"].is_null(), "{code}: {}", report["lost"]["not_done"]);
    }
}
