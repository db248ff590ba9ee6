//! Memory errors in every output: Memcheck's own words in the text of `memcheck`, the page of `run`, XML, suppressions and statuses.

use std::path::PathBuf;
use std::process::Command;

use super::truth::checked;
use crate::harness::{Folder, Heaplens, program_with};

fn program() -> PathBuf {
    program_with("bad_frees.cpp", "bad_frees-O2", &["-O2"]).expect("an ordinary program compiles")
}

/// Without the addresses, which differ in each run.
fn scrubbed(text: &str) -> String {
    let words = text.split(' ').map(|word| if word.starts_with("0x") { "0x…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

fn position(text: &str, part: &str) -> usize {
    text.find(part).unwrap_or_else(|| panic!("no '{part}' in\n{text}"))
}

#[test]
fn memcheck_says_it_in_memchecks_words_and_order() {
    let text = scrubbed(&checked(&[], &program(), &["double_free"]).stderr());
    let parts = [
        "Invalid free() / delete / delete[] / realloc()\n     double_free",
        "Address 0x… is 0 bytes inside a block of size 40 free'd\n     double_free",
        "Block was alloc'd at\n     double_free",
        "HEAP SUMMARY:\n",
        "in use at exit: ",
        "total heap usage: ",
        "ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)",
    ];
    let at: Vec<usize> = parts.iter().map(|part| position(&text, part)).collect();
    assert!(at.is_sorted(), "{at:?}\n{text}");
    let text = scrubbed(&checked(&[], &program(), &["many_times"]).stderr());
    position(&text, "Mismatched free() / delete / delete []  (5 times)\n     many_times");
    position(&text, "Address 0x… is 0 bytes inside a block of size 4 alloc'd\n     many_times");
    position(&text, "ERROR SUMMARY: 5 errors from 1 contexts");
    let text = checked(&[], &program(), &["healthy"]).stderr();
    position(&text, "ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)");
}

#[test]
fn the_page_of_a_run_has_errors_after_the_verdict() {
    let run = Heaplens::on(&program(), &["--color", "never"]).arg("double_free").finish();
    let text = run.stderr();
    let parts =
        ["memory error", "double free (40 bytes)", "at            ", "allocated at  ", "live at exit"];
    let at: Vec<usize> = parts.iter().map(|part| position(&text, part)).collect();
    assert!(at.is_sorted(), "{at:?}\n{text}");
    let run = Heaplens::on(&program(), &["--color", "never"]).arg("healthy").finish();
    assert!(!run.stderr().contains("memory error"), "{}", run.stderr());
}

#[test]
fn errors_have_the_status_that_was_asked_for() {
    let run = |case: &str| {
        let run = Heaplens::on(&program(), &["-q", "--error-exitcode", "9"]).arg(case).finish();
        run.output.status.code()
    };
    assert_eq!((run("mismatches"), run("healthy"), run("double_free")), (Some(9), Some(0), Some(134)));
    let memcheck = |options: &[&str], case: &str| {
        let options = [&["-q", "--error-exitcode=9"], options].concat();
        checked(&options, &program(), &[case]).output.status.code()
    };
    assert_eq!((memcheck(&[], "mismatches"), memcheck(&[], "healthy")), (Some(9), Some(0)));
    assert_eq!(memcheck(&["--leak-check=no"], "mismatches"), Some(9));
    assert_eq!(memcheck(&["--show-mismatched-frees=no"], "mismatches"), Some(0));
}

#[test]
fn the_xml_has_kinds_and_stacks_of_protocol_4() {
    let folder = Folder::new();
    let file = folder.file("errors.xml");
    let option = format!("--xml-file={}", file.display());
    checked(&["--xml=yes", &option], &program(), &["double_free"]);
    let xml = scrubbed(&std::fs::read_to_string(&file).expect("it was written").replace("<", " <"));
    let parts = [
        "<state>RUNNING",
        "<kind>InvalidFree",
        "<what>Invalid free() / delete / delete[] / realloc()",
        "<stack>",
        "<fn>double_free",
        "<auxwhat>Address 0x… is 0 bytes inside a block of size 40 free&apos;d",
        "<auxwhat>Block was alloc&apos;d at",
        "<state>FINISHED",
        "<errorcounts>",
        "<count>1",
    ];
    let at: Vec<usize> = parts.iter().map(|part| position(&xml, part)).collect();
    assert!(at.is_sorted(), "{at:?}\n{xml}");
}

#[test]
fn a_suppression_that_was_generated_hides_the_error_in_the_next_run() {
    let folder = Folder::new();
    let text = checked(&["--gen-suppressions=all", "-q"], &program(), &["many_times"]).stderr();
    let start = position(&text, "{\n");
    let end = position(&text, "\n}") + 3;
    assert!(text[start..end].contains("Memcheck:Free\n"), "{text}");
    let file = folder.file("known.supp");
    std::fs::write(&file, &text[start..end]).expect("it can be written");
    let option = format!("--suppressions={}", file.display());
    let run = checked(&[&option, "--error-exitcode=9"], &program(), &["many_times"]);
    assert_eq!(run.output.status.code(), Some(0), "{}", run.stderr());
    assert!(run.stderr().contains("(suppressed: 5 from 1)"), "{}", run.stderr());
    let other = checked(&[&option, "--error-exitcode=9"], &program(), &["mismatches"]);
    assert_eq!(other.output.status.code(), Some(9));
}

#[test]
fn valgrind_reads_a_suppression_of_ours() {
    if !std::path::Path::new("/usr/bin/valgrind").exists() {
        return crate::harness::skip("errors::outputs::valgrind_reads", "valgrind is not on this machine");
    }
    let folder = Folder::new();
    let text = checked(&["--gen-suppressions=all", "-q"], &program(), &["many_times"]).stderr();
    let file = folder.file("known.supp");
    std::fs::write(&file, &text[position(&text, "{\n")..position(&text, "\n}") + 3])
        .expect("it can be written");
    let mut valgrind = Command::new("valgrind");
    valgrind.arg(format!("--suppressions={}", file.display())).args(["-q", "--error-exitcode=9"]);
    let output = valgrind.arg(program()).arg("many_times").output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
