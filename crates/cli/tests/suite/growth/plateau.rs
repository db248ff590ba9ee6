//! C34: what rose and then stays level is reported with its line and its bytes, and is no finding; what keeps growing or never rose is
//! not reported so.

use serde_json::Value;

use super::{python, write};
use crate::harness::{Folder, Heaplens};
use crate::python::interpreters;

/// Filled in the first third, and then only used.
const FILLS: &str = "kept = {}\nfor step in range(600):\n    kept.setdefault(step % 200, bytearray(50_000))\nprint('truth', sum(map(len, kept.values())))\n";
const LEAKS: &str = "kept = {}\nfor step in range(600):\n    kept[step] = bytearray(50_000)\n";
const DROPS: &str = "for step in range(600):\n    kept = bytearray(50_000)\n";

/// The report, the page and what the script said.
fn run(text: &str) -> (Value, String, String) {
    let folder = Folder::new();
    let script = folder.file("rates.py");
    write(&script, text);
    let run = Heaplens::on(python(), &[]).arg(script).finish().expect_status(0);
    (run.report().0, run.stderr(), run.stdout())
}

#[test]
fn a_cache_that_is_full_is_reported_with_its_line_and_its_level() {
    let (report, page, said) = run(FILLS);
    assert_eq!(
        (&report["verdict"], &report["findings"]),
        (&"plateau".into(), &Value::Array(Vec::new())),
        "{page}"
    );
    let plateau = &report["plateau"];
    assert_eq!((&plateau["rule"], &plateau["location"]["line"]), (&"C34".into(), &3.into()), "{plateau}");
    let kept: f64 =
        said.trim().strip_prefix("truth ").and_then(|bytes| bytes.parse().ok()).expect("it says so");
    // Each array has one byte more, and an object of its own.
    let level = plateau["live_bytes"].as_f64().expect("it is known");
    assert!(level >= kept && level <= 1.01 * kept, "{level} reported, {kept} kept");
    assert!(page.contains("reached a plateau: ") && page.contains("rates.py:3 holds "), "{page}");
}

#[test]
fn what_goes_on_or_never_rose_is_no_plateau() {
    for (text, verdict) in [(LEAKS, "leak"), (DROPS, "clean")] {
        let (report, page, _) = run(text);
        assert_eq!((&report["verdict"], &report["plateau"]), (&verdict.into(), &Value::Null), "{page}");
    }
}

/// Iterations that allocate nothing cause no event: only the end of the loop's iterator shows that there were any.
#[test]
fn growth_that_stops_before_iterations_without_any_allocation_is_no_leak() {
    let test = "growth::plateau::growth_that_stops_before_iterations_without_any_allocation_is_no_leak";
    let folder = Folder::new();
    let script = folder.file("quiet_iterations.py");
    for python in interpreters::some(test) {
        for (items, until) in
            [("range(3000)", "1000"), ("list(range(3000))", "1000"), ("list(range(3000))", "3000")]
        {
            let text = format!(
                "kept = []\ndef work(items):\n    x = y = 0.5\n    for step in items:\n        \
                 if step < {until}: kept.append(bytearray(5000))\n        x = y\nwork({items})\n"
            );
            write(&script, &text);
            let run = Heaplens::on(&python.path, &[]).arg(&script).finish().expect_status(0);
            let (report, what) =
                (run.report().0, format!("Python {}, {items}: {}", python.version, run.stderr()));
            assert_eq!(report["iterations"]["count"], 3000, "{what}");
            assert_eq!(report["verdict"] == "leak", until == "3000", "{what}");
        }
    }
}
