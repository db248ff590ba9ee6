//! Overruns and accesses after free: what canaries and the quarantine find, and what guard pages catch, in the words of a program that says what
//! it does; and nothing in one that only goes to the edge.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::truth::{Checked, checked, checked_with, reported, status, told};
use crate::harness::{Heaplens, allocator, program_with, skip};

const SOURCE: &str = "overruns.cpp";
const MOST: usize = 14;
const ALL: &[&str] = &["-q", "--guard=all"];

fn programs() -> [PathBuf; 2] {
    ["-O0", "-O2"].map(|level| {
        program_with(SOURCE, &format!("overruns{level}"), &[level]).expect("an ordinary program compiles")
    })
}

fn cases(program: &Path) -> Vec<String> {
    let output = Command::new(program).output().expect("it starts");
    let cases: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    assert!(cases.len() > MOST, "{cases:?}");
    cases
}

/// Under other allocators their own operators make blocks with an alignment, without room for a canary.
fn has_canary_with_glibc_alone(case: &str) -> bool {
    case.contains("aligned")
}

/// Some cases say what guard pages alone can see, or would destroy the allocator's own words.
fn is_for_guards_alone(case: &str) -> bool {
    case == "underrun"
}

fn assert_found(options: &[&str], program: &Path, words: &[&str]) {
    let run = checked(options, program, words);
    let told = told(&run.output.stdout);
    assert_eq!(reported(&run.report, SOURCE), told, "{words:?} {}", run.stderr());
    assert_eq!(status(&run.output), 5, "{words:?} {}", run.stderr());
}

#[test]
fn canaries_and_the_quarantine_find_what_was_written_outside_of_blocks() {
    for program in programs() {
        for case in cases(&program).iter().filter(|case| !is_for_guards_alone(case)) {
            assert_found(&["-q"], &program, &[case, "canary"]);
        }
    }
}

#[test]
fn guard_pages_catch_the_access_itself() {
    for program in programs() {
        cases(&program).iter().for_each(|case| assert_found(ALL, &program, &[case, "guard"]));
    }
}

#[test]
fn both_work_in_threads() {
    let [_, program] = programs();
    for case in cases(&program) {
        if !is_for_guards_alone(&case) {
            assert_found(&["-q"], &program, &[&case, "canary", "thread"]);
        }
        assert_found(ALL, &program, &[&case, "guard", "thread"]);
    }
}

#[test]
fn both_work_under_other_allocators() {
    let [_, program] = programs();
    for name in ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"] {
        let Some(library) = allocator(name) else {
            skip(
                "errors::overruns::both_work_under_other_allocators",
                &format!("{name} is not on this machine"),
            );
            continue;
        };
        for case in cases(&program).into_iter().filter(|case| !has_canary_with_glibc_alone(case)) {
            for (options, mode) in [(&["-q"][..], "canary"), (ALL, "guard")] {
                if mode == "canary" && is_for_guards_alone(&case) {
                    continue;
                }
                let run = checked_with(Some(&library), options, &program, &[&case, mode]);
                let found = reported(&run.report, SOURCE);
                assert_eq!(found, told(&run.output.stdout), "{name} {case} {}", run.stderr());
                assert_eq!(status(&run.output), 5, "{name} {case} {}", run.stderr());
            }
        }
    }
}

#[test]
fn a_forked_child_is_checked_as_its_parent_is() {
    let [_, program] = programs();
    for case in ["overrun", "write_after_free", "healthy"] {
        for (options, mode) in [(&["-q"][..], "canary"), (ALL, "guard")] {
            let run = checked(&options[1..], &program, &[case, mode, "child"]);
            let found = run.stderr().contains("Invalid write");
            assert_eq!(found, case != "healthy", "{case} {mode} {}", run.stderr());
            assert_eq!(status(&run.output), 5, "{case} {mode}");
        }
    }
}

#[test]
fn a_line_can_be_guarded_alone() {
    let [program, _] = programs();
    let plain = checked(&[], &program, &["overrun", "canary"]);
    let hint = plain.stderr().lines().find_map(|line| line.split("--guard=").nth(1).map(str::to_owned));
    let guard = format!("--guard={}", hint.expect("the page names the option"));
    assert!(guard.starts_with("--guard=overruns.cpp:"), "{guard}");
    assert_found(&["-q", &guard], &program, &["overrun", "guard"]);
    let other = checked(&["-q", &guard], &program, &["overrun_of_calloc", "canary"]);
    assert_eq!(
        reported(&other.report, SOURCE),
        told(&other.output.stdout),
        "a block of another line has a canary alone"
    );
}

#[test]
fn a_line_without_code_is_an_error_before_the_program_starts() {
    let [program, _] = programs();
    let output =
        Heaplens::bare(["memcheck", "--guard=overruns.cpp:1"]).arg(&program).output().expect("it starts");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no code for this line"), "{output:?}");
    assert!(output.stdout.is_empty());
}

#[test]
fn with_an_alignment_of_one_no_byte_escapes() {
    let [program, _] = programs();
    let run =
        checked(&["-q", "--guard=all", "--guard-align=1"], &program, &["overrun_found_at_the_end", "guard"]);
    let found = reported(&run.report, SOURCE);
    assert_eq!(found.len(), 1, "{}", run.stderr());
    assert_eq!((found[0].what.as_str(), found[0].line > 0), ("invalid write", true));
}

/// The options that the page names to catch the access itself.
fn hint(run: &Checked) -> Vec<String> {
    let page = run.stderr();
    let options = page.lines().find_map(|line| line.split("To catch the access itself: ").nth(1));
    let options = options.unwrap_or_else(|| panic!("the page names them: {page}"));
    options.split(' ').map(str::to_owned).collect()
}

#[test]
fn the_options_for_a_guarded_block_catch_what_its_guard_missed() {
    let [program, _] = programs();
    let cases = [("overrun_found_at_the_end", "--guard-align=1"), ("underrun", "--guard-side=begin")];
    for (case, expected) in cases {
        let missed = checked(&["--guard=all"], &program, &[case, "guard"]);
        let options = hint(&missed);
        assert_eq!(options[1..], [expected], "{case} {}", missed.stderr());
        let options: Vec<&str> = ["-q"].into_iter().chain(options.iter().map(String::as_str)).collect();
        let found = reported(&checked(&options, &program, &[case, "guard"]).report, SOURCE);
        assert_eq!(found.len(), 1, "{case} {options:?}");
        assert_eq!((found[0].what.as_str(), found[0].line > 0), ("invalid write", true), "{case}");
    }
}

#[test]
fn blocks_with_guard_pages_are_counted() {
    let [program, _] = programs();
    let all = checked(&["--guard=all"], &program, &["healthy", "guard"]);
    let number = all.report["guarded_blocks"].as_u64().expect("they were guarded");
    assert!(number >= 20, "{number}");
    assert!(all.stderr().contains(&format!("guard pages: {number} blocks")), "{}", all.stderr());
    let none = checked(&[], &program, &["healthy", "canary"]);
    assert!(none.report.get("guarded_blocks").is_none() && !none.stderr().contains("guard pages:"));
}

#[test]
fn the_begin_of_blocks_can_be_guarded_instead() {
    let [program, _] = programs();
    let run = checked(&["-q", "--guard=all", "--guard-side=begin"], &program, &["underrun", "guard"]);
    let found = reported(&run.report, SOURCE);
    assert_eq!(found.len(), 1, "{}", run.stderr());
    assert_eq!((found[0].what.as_str(), found[0].line > 0), ("invalid write", true));
}

#[test]
fn the_program_ends_at_the_first_access_where_that_is_wanted() {
    let [program, _] = programs();
    let run = checked(&["-q", "--guard=all", "--on-error=stop"], &program, &["twice_at_one_page", "guard"]);
    assert_eq!(status(&run.output), 128 + 11, "{}", run.stderr());
    assert_eq!(reported(&run.report, SOURCE), told(&run.output.stdout), "{}", run.stderr());
}
