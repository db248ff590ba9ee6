//! Limits for builds: exit statuses, `--max-growth`, and baselines that know what grows.

use std::path::Path;

use super::{python, write};
use crate::harness::{Finished, Folder, Heaplens};

const GROWS: &str = "import sys\nkept = []\nfor i in range(200):\n    kept.append(bytes(10_000))\nsys.exit(int(sys.argv[1]))\n";
const GROWS_TWICE: &str = "import sys\n\nkept, other = [], {}\nfor i in range(200):\n    kept.append(bytes(10_000))\n    other[i] = bytearray(20_000)\n";
const STANDS: &str = "for i in range(200): sum(range(100))\n";

fn run(folder: &Folder, text: &str, options: &[&str], word: &str) -> Finished {
    let script = folder.file("limited.py");
    write(&script, text);
    Heaplens::on(python(), options).arg(script).arg(word).finish()
}

fn status(text: &str, options: &[&str], word: &str) -> Option<i32> {
    run(&Folder::new(), text, options, word).output.status.code()
}

#[test]
fn a_leak_has_the_status_that_was_asked_for_unless_the_program_failed() {
    assert_eq!(status(GROWS, &[], "0"), Some(0));
    assert_eq!(status(GROWS, &["--error-exitcode=9"], "0"), Some(9));
    assert_eq!(status(GROWS, &["--error-exitcode=9"], "3"), Some(3));
    assert_eq!(status(STANDS, &["--error-exitcode=9"], "0"), Some(0));
}

/// 2 MB in less than a second are above the usual floor; a floor of 100 MiB leaves one line of them.
#[test]
fn growth_below_the_floor_is_one_line_and_no_leak() {
    let floor = ["--floor=100MiB", "--error-exitcode=9"];
    let below = run(&Folder::new(), GROWS, &floor, "0").expect_status(0);
    let (report, page) = (below.report().0, below.stderr());
    assert_eq!(report["findings"], serde_json::json!([]), "{page}");
    assert_eq!(report["below_floor"][0]["location"]["line"], 4, "{page}");
    assert!(["clean", "plateau"].contains(&report["verdict"].as_str().unwrap_or_default()), "{page}");
    let line = page.lines().find(|line| line.contains("below the floor: ")).expect("it is mentioned");
    assert!(line.contains("per iteration at ") && line.contains("limited.py:4"), "{page}");
    let above = run(&Folder::new(), GROWS, &["--floor=1MiB", "--error-exitcode=9"], "0").expect_status(9);
    assert_eq!(above.report().0["verdict"], "leak");
    assert_eq!(status(GROWS, &["--floor=0", "--error-exitcode=9"], "0"), Some(9));
    assert_eq!(status(GROWS, &["--floor=100MiB", "--max-growth=1KiB"], "0"), Some(1), "a limit is a limit");
}

#[test]
fn growth_beyond_the_limit_fails_and_says_by_how_much() {
    let run = run(&Folder::new(), GROWS, &["--max-growth", "1KiB/iteration"], "0").expect_status(1);
    let said = run.stderr();
    assert!(said.contains("KiB/iteration, more than --max-growth 1.00 KiB/iteration"), "{said}");
    assert_eq!(status(GROWS, &["--max-growth=1KiB/iteration", "--error-exitcode=9"], "0"), Some(9));
    assert_eq!(status(GROWS, &["--max-growth=1MiB/iteration"], "0"), Some(0));
    assert_eq!(status(GROWS, &["--max-growth=1KiB/second"], "0"), Some(1));
    assert_eq!(status(STANDS, &["--max-growth=0/iteration"], "0"), Some(0));
}

#[test]
fn a_limit_that_makes_no_sense_is_refused_before_the_program_runs() {
    let run = run(&Folder::new(), GROWS, &["--max-growth", "1KiB/fortnight"], "0").expect_status(125);
    assert!(run.stderr().contains("not per 'fortnight'"), "{}", run.stderr());
}

#[test]
fn known_growth_is_accepted_and_new_growth_fails() {
    let folder = Folder::new();
    let file = folder.file("known.json");
    let file = file.to_str().expect("a path is text");
    run(&folder, GROWS, &["--write-baseline", file], "0").expect_status(0);
    run(&folder, GROWS, &["--baseline", file, "--error-exitcode=9"], "0").expect_status(0);
    let new = run(&folder, GROWS_TWICE, &["--baseline", file], "0").expect_status(1);
    let said = new.stderr();
    let findings: Vec<&str> =
        said.lines().filter(|line| line.starts_with("heaplens: finding not covered by")).collect();
    assert!(matches!(findings[..], [one] if one.ends_with("other[i] = bytearray(20_000)")), "{said}");
    // A report is judged by the same limits.
    let mut report = Heaplens::bare(["report", "--error-exitcode=9", "--baseline", file]);
    let output = report.arg(new.recording()).output().expect("heaplens starts");
    assert_eq!(output.status.code(), Some(9));
}

#[test]
fn a_baseline_that_cannot_be_read_is_an_error_of_ours() {
    let folder = Folder::new();
    let missing = run(&folder, STANDS, &["--baseline", "/nowhere/known.json"], "0").expect_status(125);
    assert!(missing.stderr().contains("--write-baseline /nowhere/known.json"), "{}", missing.stderr());
    write(Path::new(&folder.file("foreign.json")), "{}");
    let foreign = folder.file("foreign.json");
    run(&folder, STANDS, &["--baseline", foreign.to_str().expect("text")], "0").expect_status(125);
}
