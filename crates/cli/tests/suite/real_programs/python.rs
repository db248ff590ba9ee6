//! CPython's own tests: every single one must end as it does alone.

use std::process::Command;

use super::said;
use super::trial::Trial;
use crate::harness::skip;

/// Runs the tests and prints how each ended, without times. The runner's own exit status may be a failure alone as well.
const SCRIPT: &str = r#"
    "$PYTHON" -m test --timeout 600 --junit-xml "$TMPDIR/results.xml" $TESTS >"$TMPDIR/talk" 2>&1 && echo all passed || echo "ended with $?"
    grep -E 'Fatal Python error|Segmentation fault|crashed' "$TMPDIR/talk" || true
    "$PYTHON" - <<'END'
import os, xml.etree.ElementTree as tree
for case in sorted(tree.parse(os.environ["TMPDIR"] + "/results.xml").iter("testcase"), key=lambda case: case.get("name")):
    print(case.get("name"), *sorted({child.tag for child in case} - {"system-out", "system-err"}))
END
"#;

const ORDINARY: &str = "test_gc test_threading test_subprocess";

#[test]
#[ignore = "long: cargo xtask test --all"]
fn cpython_tests_end_as_they_do_alone() {
    let name = "cpython_tests_end_as_they_do_alone";
    let tests = std::env::var("HEAPLENS_PYTHON_TESTS").unwrap_or_else(|_| ORDINARY.to_owned());
    let Some(python) = python_with(&tests) else {
        return skip(&format!("real_programs::{name}"), &format!("no python3 here brings along {tests}"));
    };
    let Some(trial) = Trial::of(name, &[]) else { return };
    trial.with("PYTHON", python).with("TESTS", tests).with("PYTHONHASHSEED", 0).unharmed(SCRIPT);
}

/// The interpreter itself, not a shim that looks for it, and only one that brings all of these tests along: an
/// installation of 3.11.7 from source leaves `test_multiprocessing_spawn` out.
fn python_with(tests: &str) -> Option<String> {
    const ASK: &str = "import sys, importlib.util as find
if all(find.find_spec('test.' + name) for name in sys.argv[1:]): print(sys.executable)
else: sys.exit(1)";
    let ask = |python| said(Command::new(python).args(["-c", ASK]).args(tests.split_whitespace()));
    ["python3", "/usr/bin/python3"].into_iter().find_map(ask)
}
