//! Which blocks can be reached at the end of a program: as the program itself says, and as Memcheck says.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Folder, Heaplens, Report, besides, program_with, skip};

/// Bytes and blocks by kind and line.
type Leaks = BTreeMap<(String, u64), (u64, u64)>;

/// `leak KIND BYTES BLOCKS LINE`, as programs say it.
fn truth(output: &[u8]) -> Leaks {
    let mut leaks = Leaks::new();
    for line in String::from_utf8_lossy(output).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["leak", kind, bytes, blocks, line] = words[..] {
            let number = |word: &str| word.parse::<u64>().expect("a number");
            add(&mut leaks, kind, number(line), (number(bytes), number(blocks)));
        }
    }
    assert!(!leaks.is_empty(), "the program speaks");
    leaks
}

fn add(leaks: &mut Leaks, kind: &str, line: u64, (bytes, blocks): (u64, u64)) {
    let sum = leaks.entry((kind.to_owned(), line)).or_default();
    *sum = (sum.0 + bytes, sum.1 + blocks);
}

/// Runs a program under `heaplens memcheck`: what it says, and what the report says of lines of its source.
fn checked(program: &Path, source: &str, words: &[&str]) -> (Leaks, Leaks, Value) {
    checked_with(&[], program, source, words)
}

/// The same with more options.
fn checked_with(options: &[&str], program: &Path, source: &str, words: &[&str]) -> (Leaks, Leaks, Value) {
    let folder = Folder::new();
    let json = folder.file("lost.json");
    let mut command = Heaplens::bare(["memcheck", "--json"]);
    let output = command.arg(&json).args(options).arg(program).args(words).output().expect("heaplens starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = Report::parse(&std::fs::read(json).expect("a report")).whole();
    let lost = &report["lost"];
    assert!(lost["not_done"].is_null(), "{}", lost["not_done"]);
    let mut found = Leaks::new();
    for record in lost["records"].as_array().expect("records") {
        let stack = record["stack"].as_array().expect("a stack");
        let is_own = |frame: &&Value| frame["file"].as_str().is_some_and(|file| file.ends_with(source));
        // What the C library itself allocates for the program is not the program's own line's.
        let Some(frame) = stack.iter().find(is_own).filter(|_| !is_of_libc(stack)) else { continue };
        let number = |field: &str| record[field].as_u64().expect("a number");
        let line = frame["line"].as_u64().expect("a line");
        add(&mut found, record["kind"].as_str().expect("a kind"), line, (number("bytes"), number("blocks")));
    }
    (truth(&output.stdout), found, report)
}

fn is_of_libc(stack: &[Value]) -> bool {
    stack[0]["module"]
        .as_str()
        .is_some_and(|module| module.contains("libc.so") || module.contains("ld-linux"))
}

fn leak_kinds() -> std::path::PathBuf {
    program_with("leak_kinds.cpp", "leak_kinds", &["-O0"]).expect("an ordinary program compiles")
}

#[test]
fn every_kind_is_what_the_program_says() {
    let (truth, found, report) = checked(&leak_kinds(), "leak_kinds.cpp", &[]);
    assert_eq!(found, truth);
    let of = |wanted: &str| {
        let rows = truth.iter().filter(move |((kind, _), _)| kind == wanted);
        rows.fold((0, 0), |sum, (_, amount)| (sum.0 + amount.0, sum.1 + amount.1))
    };
    let total = |kind: &str| {
        let amount = &report["lost"][kind];
        (amount["bytes"].as_u64().expect("bytes"), amount["blocks"].as_u64().expect("blocks"))
    };
    assert_eq!(total("definitely"), of("definitely"), "and nothing else is lost");
    assert_eq!(total("indirectly"), of("indirectly"));
}

#[test]
fn what_main_alone_held_is_lost_when_it_returns_and_not_when_it_calls_exit() {
    let program =
        program_with("leak_in_main.c", "leak_in_main", &["-O0"]).expect("an ordinary program compiles");
    for words in [&[][..], &["exit"]] {
        let (truth, found, _) = checked(&program, "leak_in_main.c", words);
        assert_eq!(found, truth, "{words:?}");
    }
}

fn bases(optimisation: &str) -> std::path::PathBuf {
    let name = format!("bases{optimisation}");
    program_with("bases.cpp", &name, &[optimisation]).expect("an ordinary program compiles")
}

#[test]
fn a_pointer_to_any_base_holds_an_object_and_one_to_another_part_does_not() {
    for optimisation in ["-O0", "-O2"] {
        let (truth, found, _) = checked(&bases(optimisation), "bases.cpp", &[]);
        assert_eq!(found, truth, "{optimisation}");
    }
}

#[test]
fn heuristics_for_interior_pointers_are_those_of_memcheck() {
    let test = "memcheck::heuristics_for_interior_pointers_are_those_of_memcheck";
    if !Path::new("/usr/bin/valgrind").exists() {
        return skip(test, "valgrind is not on this machine");
    }
    let program = bases("-O0");
    for list in ["all", "none"].iter().chain(besides(&["newarray", "stdstring,multipleinheritance"])) {
        let option = format!("--leak-check-heuristics={list}");
        let (_, found, _) = checked_with(&[&option], &program, "bases.cpp", &[]);
        assert_eq!(found, memcheck_with(&[&option], &program, "bases.cpp"), "{list}");
    }
}

/// Memcheck calls them all definitely lost.
#[test]
fn an_array_of_no_elements_is_held_by_the_pointer_to_its_end() {
    let program =
        program_with("empty_arrays.cpp", "empty_arrays", &["-O0"]).expect("an ordinary program compiles");
    let (truth, found, _) = checked(&program, "empty_arrays.cpp", &[]);
    assert_eq!(found, truth);
}

#[test]
fn what_a_program_keeps_on_purpose_is_not_lost_and_it_is_told_what_is() {
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../agent/include");
    let program = program_with("kept_on_purpose.c", "kept_on_purpose", &["-O0", include]);
    let program = program.expect("an ordinary program compiles");
    let (truth, found, _) = checked(&program, "kept_on_purpose.c", &[]);
    assert_eq!(found, truth);
    let said = |mut command: Command| {
        let output = command.output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().filter_map(|line| line.strip_prefix("lost-now ")?.parse().ok()).collect::<Vec<u32>>()
    };
    let mut command = Heaplens::bare(["memcheck"]);
    command.arg(&program);
    assert_eq!(said(command), [0, 1, 1]);
    assert_eq!(said(Command::new(&program)), [0, 0, 0], "alone it knows nothing of it");
}

/// `==1== 1,440 (480 direct, 960 indirect) bytes in 10 blocks are definitely lost in loss record 4 of 4`, then frames
/// `==1==    by 0x10916E: leak_tree (a.c:7)`.
fn memcheck(program: &Path, source: &str) -> Leaks {
    memcheck_with(&[], program, source)
}

fn memcheck_with(options: &[&str], program: &Path, source: &str) -> Leaks {
    let output = Command::new("valgrind")
        .args(options)
        .args(["--leak-check=full", "--show-leak-kinds=all", "--leak-resolution=high", "--num-callers=40"])
        .arg(program)
        .output()
        .expect("valgrind starts");
    let text = String::from_utf8_lossy(&output.stderr);
    let mut leaks = Leaks::new();
    let mut open: Option<(&str, (u64, u64))> = None;
    for line in text.lines().filter_map(|line| Some(line.split_once("== ")?.1.trim())) {
        if let Some(record) = record(line) {
            open = Some(record);
        } else if let (Some((kind, amount)), Some(at)) = (open, line_of(line, source)) {
            add(&mut leaks, kind, at, amount);
            open = None;
        } else if line.is_empty() || line.contains("pthread_create") {
            // What the C library allocates for a thread is not the program's own line's.
            open = None;
        }
    }
    leaks
}

fn record(line: &str) -> Option<(&'static str, (u64, u64))> {
    let kinds = [
        ("are definitely lost in", "definitely"),
        ("are indirectly lost in", "indirectly"),
        ("are possibly lost in", "possibly"),
        ("are still reachable in", "still_reachable"),
    ];
    let (_, kind) = kinds.into_iter().find(|(words, _)| line.contains(words))?;
    let number = |word: &str| word.trim_start_matches('(').replace(',', "").parse::<u64>().ok();
    let words: Vec<&str> = line.split(' ').collect();
    let direct = words.iter().position(|word| *word == "direct,").map_or(words[0], |at| words[at - 1]);
    let blocks = words.iter().position(|word| *word == "in").map(|at| words[at + 1])?;
    Some((kind, (number(direct)?, number(blocks)?)))
}

fn line_of(frame: &str, source: &str) -> Option<u64> {
    let (_, location) = frame.rsplit_once('(')?;
    location.strip_suffix(')')?.strip_prefix(source)?.strip_prefix(':')?.parse().ok()
}

#[test]
fn every_kind_is_what_memcheck_says() {
    let test = "memcheck::every_kind_is_what_memcheck_says";
    if !Path::new("/usr/bin/valgrind").exists() {
        return skip(test, "valgrind is not on this machine");
    }
    let program = leak_kinds();
    let (_, found, _) = checked(&program, "leak_kinds.cpp", &[]);
    assert_eq!(found, memcheck(&program, "leak_kinds.cpp"));
}

#[test]
fn lost_blocks_have_the_status_that_was_asked_for() {
    let status = |options: &[&str]| {
        let mut command = Heaplens::bare(["memcheck"]);
        let output = command.args(options).arg(leak_kinds()).output().expect("heaplens starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(status(&["--error-exitcode=9"]).0, Some(9));
    assert_eq!(status(&["--error-exitcode=9", "--errors-for-leak-kinds=none"]).0, Some(0));
    assert_eq!(status(&["--error-exitcode=9", "--leak-check=no"]).0, Some(0));
    let (code, words) = status(&["--xml=yes"]);
    assert!(code == Some(125) && words.contains("--xml-file"), "{words}");
    let (_, words) = status(&["--leak-check=full", "--show-leak-kinds=definite"]);
    assert!(words.contains("definitely lost") && words.contains("leak_kinds.cpp"), "{words}");
    assert!(!words.contains(" possibly lost\n"), "only what was asked for is shown: {words}");
}

/// Texts of all elements of a name, in their order.
fn elements<'a>(xml: &'a str, name: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    xml.split(open.as_str()).skip(1).filter_map(|rest| rest.split(close.as_str()).next()).collect()
}

/// Kinds, bytes, blocks and the lines of the program, as a reader of Valgrind's XML sees them.
fn errors(xml: &str, source: &str) -> Vec<(String, u64, u64, Vec<u64>)> {
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let error = |error: &str| {
        let of = |frame: &&str| elements(frame, "file").first() == Some(&source);
        let lines =
            elements(error, "frame").into_iter().filter(of).map(|frame| number(elements(frame, "line")[0]));
        let one = |name: &str| elements(error, name)[0];
        (
            one("kind").to_owned(),
            number(one("leakedbytes")),
            number(one("leakedblocks")),
            lines.collect::<Vec<u64>>(),
        )
    };
    let mut errors: Vec<_> =
        elements(xml, "error").into_iter().map(error).filter(|row| !row.3.is_empty()).collect();
    errors.sort();
    errors
}

#[test]
fn the_xml_says_what_memchecks_own_says() {
    let test = "memcheck::the_xml_says_what_memchecks_own_says";
    if !Path::new("/usr/bin/valgrind").exists() {
        return skip(test, "valgrind is not on this machine");
    }
    let (folder, program) = (Folder::new(), leak_kinds());
    let options = ["--leak-check=full", "--xml=yes", "--num-callers=40"];
    let written = |mut command: Command, name: &str| {
        let file = folder.file(name);
        command.args(options).arg(format!("--xml-file={}", file.display())).arg(&program);
        assert!(command.output().expect("it starts").status.success());
        std::fs::read_to_string(file).expect("a file")
    };
    let theirs = written(Command::new("valgrind"), "theirs.xml");
    let ours = written(Heaplens::bare(["memcheck"]), "ours.xml");
    // What the C library allocates for a thread is suppressed here, and by Memcheck it is not.
    let is_own = |row: &(String, u64, u64, Vec<u64>)| row.0 != "Leak_PossiblyLost" || row.1 < 300;
    let theirs: Vec<_> = errors(&theirs, "leak_kinds.cpp").into_iter().filter(is_own).collect();
    assert_eq!(errors(&ours, "leak_kinds.cpp"), theirs);
    assert_eq!(elements(&ours, "protocolversion"), ["4"]);
}

/// The sums of what is lost, as Memcheck's summary or our page has them: `definitely lost: 16 bytes in 1 blocks`.
fn sums(words: &[u8]) -> Vec<(u64, u64)> {
    let text = String::from_utf8_lossy(words);
    let number = |word: &str| word.replace(',', "").parse::<u64>().ok();
    let sum = |line: &str| {
        let (_, rest) = line.split_once(" lost")?;
        let mut numbers = rest.split([' ', ':']).filter_map(number);
        Some((numbers.next()?, numbers.next()?))
    };
    let wanted = ["definitely lost", "indirectly lost"];
    let line_of = |kind: &&str| text.lines().find(|line| line.contains(*kind)).and_then(sum);
    wanted.iter().filter_map(line_of).collect()
}

#[test]
fn programs_that_others_wrote_lose_what_memcheck_says() {
    let test = "memcheck::programs_that_others_wrote_lose_what_memcheck_says";
    if !Path::new("/usr/bin/valgrind").exists() {
        return skip(test, "valgrind is not on this machine");
    }
    for words in [
        &["sort", "/etc/passwd"][..],
        &["perl", "-e", "@a = (1..9999)"],
        &["awk", "BEGIN { for (i = 0; i < 1000; i++) a[i] = i }"],
        &["find", "/etc", "-maxdepth", "1"],
    ] {
        let theirs = Command::new("valgrind").arg("--leak-check=summary").args(words).output();
        let theirs = theirs.expect("valgrind starts").stderr;
        let ours = Heaplens::bare(["memcheck"]).args(words).output().expect("heaplens starts").stderr;
        let (theirs, ours) = (sums(&theirs), sums(&ours));
        assert_eq!((theirs.len(), &ours), (2, &theirs), "{words:?}");
    }
}

#[test]
fn types_of_glib_and_objects_of_python_are_not_possibly_lost() {
    let test = "memcheck::types_of_glib_and_objects_of_python_are_not_possibly_lost";
    let possibly = |program: &Path, words: &[&str]| {
        let folder = Folder::new();
        let json = folder.file("lost.json");
        let mut command = Heaplens::bare(["memcheck", "--json"]);
        command.arg(&json).arg(program).args(words).env("PYTHONMALLOC", "malloc");
        assert!(command.output().expect("heaplens starts").status.success());
        let lost = Report::parse(&std::fs::read(json).expect("a report")).whole()["lost"].clone();
        (lost["possibly"]["blocks"].as_u64(), lost["definitely"]["blocks"].as_u64())
    };
    let loads =
        program_with("loads_a_library.c", "loads_a_library", &[]).expect("an ordinary program compiles");
    if Command::new(&loads).arg("libgobject-2.0.so.0").status().is_ok_and(|status| status.success()) {
        assert_eq!(possibly(&loads, &["libgobject-2.0.so.0"]), (Some(0), Some(0)));
    } else {
        skip(test, "libgobject-2.0.so.0 is not on this machine");
    }
    if Path::new("/usr/bin/python3").exists() {
        assert_eq!(possibly(Path::new("/usr/bin/python3"), &["-c", "pass"]), (Some(0), Some(0)));
    }
}
