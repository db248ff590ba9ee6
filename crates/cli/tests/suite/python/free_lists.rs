//! Objects that CPython reuses from its free lists: the line that holds them is named beside the one that first allocated them.

use super::interpreters;
use super::script;
use crate::harness::{Finished, Heaplens};

/// The line that the program says allocates what holds the objects, and the one that the first finding has; 0 for none.
fn lines(run: &Finished) -> [u64; 2] {
    let said = run.stdout();
    let said = said.lines().find_map(|line| line.strip_prefix("kept at ")?.parse().ok());
    let findings = run.report().0["findings"].clone();
    assert_eq!(findings[0]["rule"], "G1", "{findings:#}");
    [said.unwrap_or(0), findings[0]["kept_at"]["line"].as_u64().unwrap_or(0)]
}

#[test]
fn the_line_that_holds_reused_objects_is_named_and_no_other() {
    let test = "python::free_lists::the_line_that_holds_reused_objects_is_named_and_no_other";
    for python in interpreters::versions(test) {
        for kind in ["reused", "own", "others"] {
            let run = Heaplens::on(&python.path, &[]).arg(script("python_free_lists.py")).arg(kind);
            let [said, found] = lines(&run.finish().expect_status(0));
            assert_eq!(found, said, "Python {} {kind}", python.version);
            assert_eq!(said != 0, kind == "reused");
        }
    }
}
