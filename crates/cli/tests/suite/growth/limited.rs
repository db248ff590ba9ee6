//! Containers with a limit: what grows in one that is not full yet ends, unless the limit is so far away that it makes no difference. The programs
//! take a heap snapshot themselves in the middle of their loop.

use serde_json::Value;

use super::{python, write};
use crate::harness::{Folder, Heaplens};

const CACHE: &str = "\
@functools.lru_cache(maxsize=LIMIT)
def load(step):
    return bytearray(9_000)
";

const DEQUE: &str = "\
kept = collections.deque(maxlen=LIMIT)
def load(step):
    kept.append(bytearray(9_000))
";

/// The verdict, and the finding at the line that allocates.
fn found(container: &str, limit: &str) -> (Value, Value) {
    let package = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python");
    let text = format!(
        "import collections, functools, sys; sys.path.insert(0, {package:?})\nimport heaplens\n{}\
         for step in range(300):\n    load(step)\n    if step == 200: heaplens.snapshot()\n",
        container.replace("LIMIT", limit)
    );
    let folder = Folder::new();
    let script = folder.file("limited.py");
    write(&script, &text);
    let run = Heaplens::on(python(), &[]).arg(script).finish().expect_status(0);
    let report = run.report().0;
    assert_eq!(report["findings"][0]["location"]["line"], 5, "{}", run.stderr());
    (report["verdict"].clone(), report["findings"][0].clone())
}

#[test]
fn growth_in_a_container_with_a_limit_ends() {
    for container in [CACHE, DEQUE] {
        let (verdict, finding) = found(container, "5000");
        assert_eq!((&verdict, &finding["rule"]), (&"growth".into(), &"G4".into()), "{finding}");
        let evidence = finding["evidence"].as_array().expect("evidence");
        let value =
            |what: &str| evidence.iter().find(|one| one["what"] == what).map(|one| one["value"].clone());
        assert_eq!(value("elements of the container"), Some(201.0.into()));
        assert_eq!(value("elements that the container has at most"), Some(5000.0.into()));
    }
}

#[test]
fn growth_in_a_container_without_a_limit_or_with_one_that_is_far_away_is_a_leak() {
    for container in [CACHE, DEQUE] {
        for limit in ["None", "10**9"] {
            let (verdict, finding) = found(container, limit);
            assert_eq!((&verdict, &finding["rule"]), (&"leak".into(), &"G1".into()), "{finding}");
        }
    }
}
