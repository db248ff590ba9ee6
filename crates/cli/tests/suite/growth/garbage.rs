//! Memory that a collection at the end frees, and what held it while it grew: garbage that waited for the collector is told apart from
//! what a function held until it returned. The programs take a heap snapshot themselves in the middle of their loop, so that every run has
//! one while memory grows.

use std::path::Path;

use serde_json::Value;

use super::write;
use crate::harness::{Folder, Heaplens};
use crate::python::interpreters;

/// A program: what is there before the loop, an iteration, and what runs after the loop. `NEW` is at the line that grows.
struct Script {
    name: &'static str,
    before: &'static str,
    iteration: &'static str,
}

/// Held by a variable of a function that has returned when the test is made, in an object that is in a cycle.
const HELD: [Script; 4] = [
    Script {
        name: "an object that refers to itself",
        before: "class Store:\n    def __init__(self):\n        self.kept, self.me = [], self\nmake = Store",
        iteration: "store.kept.append(NEW)",
    },
    Script {
        name: "exceptions with their tracebacks",
        before: "class Store:\n    def __init__(self): self.kept = []\nmake = Store\ndef fail():\n    raise ValueError",
        iteration: "try:\n            data = NEW; fail()\n        except ValueError as error: store.kept.append((error, data))",
    },
    Script {
        name: "a closure over itself",
        before: "def make():\n    kept = []\n    def store(value): kept.append((store, value))\n    return store",
        iteration: "store(NEW)",
    },
    Script {
        name: "parents and children",
        before: "class Node:\n    def __init__(self, parent=None, data=None):\n        self.parent, self.data, self.children = parent, data, []\nmake = Node",
        iteration: "store.children.append(Node(store, NEW))",
    },
];

/// In cycles that nothing refers to any more, with the collector switched off.
const GARBAGE: [Script; 4] = [
    Script {
        name: "an object that refers to itself",
        before: "import gc; gc.disable()\nclass Node: pass\nmake = Node",
        iteration: "node = Node(); node.me = node; node.data = NEW",
    },
    Script {
        name: "slots",
        before: "import gc; gc.disable()\nclass Node: __slots__ = 'me', 'data'\nmake = Node",
        iteration: "node = Node(); node.me = node; node.data = NEW",
    },
    Script {
        name: "lists in each other",
        before: "import gc; gc.disable()\nmake = list",
        iteration: "one = [NEW]; one.append([one])",
    },
    Script {
        name: "a closure over itself",
        before: "import gc; gc.disable()\nmake = list\ndef closure(data):\n    def again(): return again, data\n    return again",
        iteration: "closure(NEW)",
    },
];

const ITERATIONS: u32 = 300;

impl Script {
    /// Its text and the line that grows.
    fn text(&self, takes_snapshot: bool) -> (String, u64) {
        let package = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python");
        let snapshot = if takes_snapshot { "if step == 200: heaplens.snapshot()" } else { "pass" };
        let text = format!(
            "import sys; sys.path.insert(0, {package:?})\nimport heaplens\n{}\ndef main():\n    store = make()\n    \
             for step in range({ITERATIONS}):\n        {}\n        {snapshot}\nmain()\n",
            self.before,
            self.iteration.replace("NEW", "bytearray(9_000)"),
        );
        let line = text.lines().position(|line| line.contains("bytearray(9_000)")).expect("it is there");
        (text, line as u64 + 1)
    }

    /// The report, the page, and the only finding, which is at the right line.
    fn run(&self, python: &Path, takes_snapshot: bool) -> (Value, String, Value) {
        let (text, line) = self.text(takes_snapshot);
        let folder = Folder::new();
        let script = folder.file("script.py");
        write(&script, &text);
        let run = Heaplens::on(python, &[]).arg(&script).finish().expect_status(0);
        let (report, page) = (run.report().0, words(&run.stderr()));
        let at = |finding: &&Value| finding["location"]["line"] == line;
        let found = report["findings"].as_array().and_then(|findings| findings.iter().find(at)).cloned();
        let found = found.unwrap_or_else(|| panic!("{}: nothing at line {line}:\n{page}", self.name));
        (report, page, found)
    }
}

/// Objects parsed from a text that a temporary was made for: the interpreter reuses the temporary's objects for them, so that another line
/// first allocated most of what this one keeps. A local holds them, until the function returns: as it is, and in a cycle.
const PARSED: &str = "\
import json, random
class Inbox:
    def __init__(self):
        self.messages, self.owner = [], OWNER
def receive():
    inbox, dice = Inbox(), random.Random(1)
    for number in range(4000):
        text = json.dumps([{'reading': dice.random()} for _ in range(40)])
        inbox.messages.append(json.loads(text))
receive()
";
/// The line that makes the temporary, and the one that keeps what it parsed.
const PARSED_AT: [u64; 2] = [8, 9];

#[test]
fn what_a_local_keeps_is_a_leak_at_the_line_that_keeps_it_whatever_a_temporary_allocated() {
    let test = "growth::garbage::what_a_local_keeps_is_a_leak_at_the_line_that_keeps_it_whatever_a_temporary_allocated";
    let (folder, [temporary, keeps]) = (Folder::new(), PARSED_AT.map(Value::from));
    let path = folder.file("script.py");
    for python in interpreters::versions(test) {
        for owner in ["None", "self"] {
            write(&path, &PARSED.replace("OWNER", owner));
            let run = Heaplens::on(&python.path, &[]).arg(&path).finish().expect_status(0);
            let (report, page) = (run.report().0, words(&run.stderr()));
            let (found, what) = (&report["findings"][0], format!("{owner} on {}:\n{page}", python.version));
            assert_eq!((&report["verdict"], &found["rule"]), (&"leak".into(), &"G1".into()), "{what}");
            let lines = [&found["location"]["line"], &found["kept_at"]["line"]];
            assert!(lines[0] == &keeps || lines == [&temporary, &keeps], "{lines:?} {what}");
            let holder = found["holder"]["path"].to_string();
            assert!(holder.contains("inbox (Inbox)") && holder.contains(".messages"), "{holder} {what}");
            assert!(!found["fix"].to_string().contains("gc.collect"), "{what}");
            assert_eq!(report["iterations"]["count"], 4000, "{what}");
        }
    }
}

/// A page without its line breaks, wherever it was wrapped.
fn words(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn evidence(finding: &Value, what: &str) -> Option<f64> {
    let all = finding["evidence"].as_array()?;
    all.iter().find(|one| one["what"] == what).and_then(|one| one["value"].as_f64())
}

const COLLECTED: &str = "bytes that a collection freed at exit";

#[test]
fn what_a_function_held_is_a_leak_whatever_a_collection_at_exit_frees() {
    let test = "growth::garbage::what_a_function_held_is_a_leak_whatever_a_collection_at_exit_frees";
    for python in interpreters::all(test) {
        for script in &HELD {
            let (report, page, found) = script.run(&python.path, true);
            let what = format!("{} on {}:\n{page}", script.name, python.version);
            assert_eq!((&report["verdict"], &found["rule"]), (&"leak".into(), &"G1".into()), "{what}");
            let path = found["holder"]["path"].as_array().expect(&what);
            assert!(
                path.iter().any(|step| step.as_str().is_some_and(|step| step.starts_with("store"))),
                "{what}"
            );
            assert!(!found["fix"].as_str().expect(&what).contains("gc.collect"), "{what}");
            let freed = evidence(&found, COLLECTED).expect(&what);
            assert!(freed >= f64::from(ITERATIONS) * 9_000.0, "{freed} {what}");
            assert!(page.contains("a heap snapshot found it reachable while it grew"), "{what}");
        }
    }
}

#[test]
fn cycles_that_nothing_refers_to_are_garbage_and_have_no_holder() {
    let test = "growth::garbage::cycles_that_nothing_refers_to_are_garbage_and_have_no_holder";
    for python in interpreters::all(test) {
        for script in &GARBAGE {
            let (report, page, found) = script.run(&python.path, true);
            let what = format!("{} on {}:\n{page}", script.name, python.version);
            assert_eq!((&report["verdict"], &found["rule"]), (&"growth".into(), &"C36".into()), "{what}");
            let part = evidence(&found, "part that was garbage while it grew").expect(&what);
            // The last one is the variable's; how many more old words in stacks and freed memory seem to hold is not known.
            assert!(part > 0.5 && part <= 1.0, "{part} {what}");
            assert_eq!(
                found["holder"]["path"],
                serde_json::json!(["no one: only references among themselves"])
            );
        }
    }
}

#[test]
fn garbage_that_the_program_collects_itself_at_its_end_is_garbage() {
    let test = "growth::garbage::garbage_that_the_program_collects_itself_at_its_end_is_garbage";
    let python = &interpreters::all(test)[0];
    let folder = Folder::new();
    let path = folder.file("script.py");
    for (script, verdict, rule) in [(&GARBAGE[0], "growth", "C36"), (&HELD[0], "leak", "G1")] {
        let (text, line) = script.text(true);
        write(&path, &format!("{text}import gc; gc.enable(); gc.collect()\n"));
        let run = Heaplens::on(&python.path, &[]).arg(&path).finish().expect_status(0);
        let (report, page) = (run.report().0, words(&run.stderr()));
        let found = &report["findings"][0];
        assert_eq!((&report["verdict"], &found["rule"]), (&verdict.into(), &rule.into()), "{page}");
        assert_eq!(found["location"]["line"], line, "{page}");
        assert_eq!(page.contains("of it unreachable; it was freed before exit"), rule == "C36", "{page}");
    }
}

#[test]
fn without_a_snapshot_the_cause_of_growth_is_not_stated() {
    let python =
        &interpreters::all("growth::garbage::without_a_snapshot_the_cause_of_growth_is_not_stated")[0];
    let folder = Folder::new();
    for script in HELD.iter().chain(&GARBAGE) {
        let (text, _) = script.text(false);
        let path = folder.file("script.py");
        write(&path, &text);
        let run = Heaplens::on(&python.path, &["--heap", "no"]).arg(&path).finish().expect_status(0);
        let (report, page) = (run.report().0, words(&run.stderr()));
        let found = &report["findings"][0];
        assert_eq!((&report["verdict"], &found["rule"]), (&"leak".into(), &"G1".into()), "{page}");
        assert!(evidence(found, COLLECTED).is_some(), "{page}");
        assert!(page.contains("no heap snapshot was taken then"), "{page}");
    }
}

/// What a function held is garbage once it has returned, and a snapshot of then says nothing of what held it.
#[test]
fn a_snapshot_after_the_function_has_returned_makes_no_garbage_of_what_it_held() {
    let test = "growth::garbage::a_snapshot_after_the_function_has_returned_makes_no_garbage_of_what_it_held";
    let python = &interpreters::all(test)[0];
    let folder = Folder::new();
    let path = folder.file("script.py");
    for script in &HELD {
        let (text, line) = script.text(true);
        write(&path, &format!("{text}heaplens.snapshot()\n"));
        let run = Heaplens::on(&python.path, &[]).arg(&path).finish().expect_status(0);
        let (report, page) = (run.report().0, words(&run.stderr()));
        let found = &report["findings"][0];
        assert_eq!((&report["verdict"], &found["rule"]), (&"leak".into(), &"G1".into()), "{page}");
        assert_eq!(found["location"]["line"], line, "{page}");
        assert!(page.contains("a heap snapshot found it reachable while it grew"), "{page}");
    }
}
