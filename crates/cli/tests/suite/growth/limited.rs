//! Containers with a limit: what grows in one that is not full yet ends, unless the limit is so far away that it makes no difference. The programs
//! take a heap snapshot themselves in the middle of their loop.

use serde_json::Value;

use super::{python, write};
use crate::harness::{Folder, Heaplens, program};

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

/// Classes that drop elements themselves; what limits something else is no limit of theirs.
const OWN: [&str; 3] = [
    "\
class Cache: __init__ = lambda self: self.__dict__.update(max_entries=LIMIT, entries={}, step=7)
cache = Cache()
def load(step): cache.entries[step] =\\
    bytearray(9_000)
",
    "\
class Recent(collections.OrderedDict): maxsize = 3; __init__ = lambda self: setattr(self, 'maxsize', LIMIT)
recent = Recent()
def load(step): recent[step] =\\
    bytearray(9_000)
",
    "\
class Log: __slots__ = ('lines', 'max_lines'); __init__ = lambda self: (setattr(self, 'lines', []), setattr(self, 'max_lines', LIMIT))[0]
log = Log()
def load(step): log.lines.append(
    bytearray(9_000))
",
];
const CLIENT: &str = "\
class Client: __init__ = lambda self: self.__dict__.update(max_retries=LIMIT, answers=[])
client = Client()
def load(step): client.answers.append(
    bytearray(9_000))
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
    let line = 1 + text.lines().position(|line| line.contains("bytearray")).expect("a line") as u64;
    assert_eq!(report["findings"][0]["location"]["line"], line, "{}", run.stderr());
    (report["verdict"].clone(), report["findings"][0].clone())
}

#[test]
fn growth_in_a_container_with_a_limit_ends() {
    for container in [CACHE, DEQUE].into_iter().chain(OWN) {
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
    let (verdict, finding) = found(CLIENT, "5000");
    assert_eq!((&verdict, &finding["rule"]), (&"leak".into(), &"G1".into()), "{finding}");
}

/// What debug information calls a limit, beside a container whose elements the library counts.
#[test]
fn limits_that_classes_of_cpp_keep_are_read() {
    let program = program("limits.cpp");
    let mut wrong = Vec::new();
    for (what, rule) in [("index", "G4"), ("cache", "G4"), ("log", "G4"), ("table", "G4"), ("client", "G1")] {
        let run = Heaplens::on(&program, &["-q"]).arg(what).finish().expect_status(0);
        let report = run.report().0;
        let evidence = report["findings"][0]["evidence"].as_array().cloned().unwrap_or_default();
        let limit = evidence.iter().find(|one| one["what"] == "elements that the container has at most");
        let is_right = report["findings"][0]["rule"] == rule
            && limit.map(|limit| limit["value"].clone()) == (rule == "G4").then(|| 6000.0.into());
        if !is_right {
            wrong.push(format!("{what}: {}", report["findings"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
