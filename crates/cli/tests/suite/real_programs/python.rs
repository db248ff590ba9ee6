//! CPython's own tests: every single one must end as it does alone.

use std::process::Command;

use super::said;
use super::trial::Trial;
use crate::harness::skip;

/// Runs the tests and prints how each ended, without times. The runner's own exit status may be a failure alone as well.
const SCRIPT: &str = r#"
    "$PYTHON" -m test --timeout 900 --junit-xml "$TMPDIR/results.xml" $TESTS >"$TMPDIR/talk" 2>&1 && echo all passed || echo "ended with $?"
    grep -E 'Fatal Python error|Segmentation fault|crashed' "$TMPDIR/talk" || true
    "$PYTHON" - <<'END'
import os, xml.etree.ElementTree as tree
for case in sorted(tree.parse(os.environ["TMPDIR"] + "/results.xml").iter("testcase"), key=lambda case: case.get("name")):
    print(case.get("name"), *sorted({child.tag for child in case} - {"system-out", "system-err"}))
END
"#;

const ORDINARY: &str = "test_gc test_threading test_subprocess";

#[test]
fn cpython_tests_end_as_they_do_alone() {
    let name = "cpython_tests_end_as_they_do_alone";
    let Some(python) = python_with_tests() else {
        return skip(&format!("real_programs::{name}"), "no python3 here has the package `test`");
    };
    let Some(trial) = Trial::of(name, &[]) else { return };
    let tests = std::env::var("HEAPLENS_PYTHON_TESTS").unwrap_or_else(|_| ORDINARY.to_owned());
    trial.with("PYTHON", python).with("TESTS", tests).with("PYTHONHASHSEED", 0).unharmed(SCRIPT);
}

/// The interpreter itself, not a shim that looks for it, and only one that brings the tests along.
fn python_with_tests() -> Option<String> {
    const ASK: &str = "import sys, test.test_gc, test.test_threading; print(sys.executable)";
    ["python3", "/usr/bin/python3"].iter().find_map(|python| said(Command::new(python).args(["-c", ASK])))
}
