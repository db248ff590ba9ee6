//! Python programs that hold what they make in every way that Python has.

use std::path::{Path, PathBuf};

use super::{Held, none_wrong};
use crate::harness::{Folder, Heaplens};
use crate::python::interpreters;

/// What a function holds is gone when it has returned: such a script asks for the look itself, while the function runs.
const HELD: &[Held] = &[
    Held {
        what: "a global list",
        script: "kept = []\nfor i in range(400):\n  kept.append(bytearray(9_000)) # here",
        way: &["module __main__", "kept (list)", "[*] bytearray"],
    },
    Held {
        what: "a dictionary",
        script: "kept = {}\nfor i in range(400):\n  kept[i] = bytearray(9_000) # here",
        way: &["module __main__", "kept (dict)", "[*] bytearray"],
    },
    Held {
        what: "a list in a dictionary",
        script: "kept = {'rows': []}\nfor i in range(400):\n  kept['rows'].append(bytearray(9_000)) # here",
        way: &["module __main__", "kept (dict)", "['rows'] list", "[*] bytearray"],
    },
    Held {
        what: "a list on an object",
        script: "class Model:\n  pass\nmodel = Model()\nmodel.history = []\nfor i in range(400):\n  model.history.append(bytearray(9_000)) # here",
        way: &["module __main__", "model (Model)", ".history (list)", "[*] bytearray"],
    },
    Held {
        what: "a class attribute",
        script: "class Model:\n  seen = []\nfor i in range(400):\n  Model.seen.append(bytearray(9_000)) # here",
        way: &["module __main__", "Model (type)", ".seen (list)", "[*] bytearray"],
    },
    Held {
        what: "a slot",
        script: "class Box:\n  __slots__ = ('rows',)\nbox = Box()\nbox.rows = []\nfor i in range(400):\n  box.rows.append(bytearray(9_000)) # here",
        way: &["module __main__", "box (Box)", ".rows (list)", "[*] bytearray"],
    },
    Held {
        what: "a closure",
        script: "def collector():\n  kept = []\n  def add(value):\n    kept.append(value)\n  return add\nadd = collector()\nfor i in range(400):\n  add(bytearray(9_000)) # here",
        way: &["module __main__", "add (function)", "kept (list)", "[*] bytearray"],
    },
    Held {
        what: "a local variable",
        script: "import _heaplens\ndef work():\n  rows = []\n  for i in range(400):\n    rows.append(bytearray(9_000)) # here\n  _heaplens.snapshot()\nwork()",
        way: &["work (script.py:*)", "rows (list)", "[*] bytearray"],
    },
    Held {
        what: "a local variable of a worker thread",
        script: "import threading, _heaplens\ndef work():\n  rows = []\n  for i in range(400):\n    rows.append(bytearray(9_000)) # here\n  _heaplens.snapshot()\nthread = threading.Thread(target=work)\nthread.start()\nthread.join()",
        way: &["work (script.py:*)", "rows (list)", "[*] bytearray"],
    },
    Held {
        what: "a set",
        script: "kept = set()\nfor i in range(400):\n  kept.add(str(i).encode() * 3_000) # here",
        way: &["module __main__", "kept (set)"],
    },
    Held {
        what: "a deque",
        script: "import collections\nkept = collections.deque()\nfor i in range(400):\n  kept.append(bytearray(9_000)) # here",
        way: &["module __main__", "kept (deque)"],
    },
    Held {
        what: "a default argument",
        script: "def keep(value, into=[]):\n  into.append(value)\nfor i in range(400):\n  keep(bytearray(9_000)) # here",
        way: &["module __main__", "keep (function)"],
    },
    Held {
        what: "a cache without a bound",
        script: "import functools\n@functools.lru_cache(maxsize=None)\ndef load(key):\n  return bytearray(9_000) # here\nfor i in range(400): load(i)",
        way: &["module __main__", "load (_lru_cache_wrapper)"],
    },
    Held {
        what: "a module of their own",
        script: "import sys, types\nstore = types.ModuleType('store')\nsys.modules['store'] = store\nstore.rows = []\ndel store\nfor i in range(400):\n  sys.modules['store'].rows.append(bytearray(9_000)) # here",
        way: &["module store", "rows (list)", "[*] bytearray"],
    },
];

#[test]
fn every_way_to_hold_something_is_named() {
    let test = "holders::python::every_way_to_hold_something_is_named";
    let (folder, mut wrong, mut tried) = (Folder::new(), Vec::new(), 0);
    for python in interpreters::all(test).iter().filter(|python| NAMED.contains(&python.version.as_str())) {
        wrong.extend(HELD.iter().filter_map(|held| held.wrong(&python.path, &folder)));
        tried += HELD.len();
    }
    none_wrong(&wrong, tried);
}

/// Each call waits until there is an image of what the program held then: a function that goes on at once is seen all the same.
const ASKS: &str = "
import heaplens
def first():
  rows = [bytearray(90_000) for _ in range(50)]
  heaplens.snapshot()
def second():
  lines = [bytearray(90_000) for _ in range(50)]
  heaplens.snapshot()
first()
second()
";

/// Writes it into a folder.
pub fn program_that_asks(folder: &Folder) -> PathBuf {
    let script = folder.file("script.py");
    let package = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python");
    let text = format!("import sys; sys.path.insert(0, {package:?}){ASKS}");
    std::fs::write(&script, text).expect("the folder is writable");
    script
}

/// Both looks show what was held then. Others may have been taken because the program grew.
pub fn assert_looks_are_right(recording: &Path) {
    let page = |look: usize| {
        let output = Heaplens::bare(["heap", "--snapshot", &look.to_string()])
            .arg(recording)
            .output()
            .expect("it runs");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let pages: Vec<String> =
        (1..).map_while(page).filter(|page| page.contains("when it was asked for")).collect();
    let held = ["first (script.py:3) → rows (list)", "second (script.py:6) → lines (list)"];
    let seen: Vec<_> = pages.iter().map(|page| held.map(|held| page.contains(held))).collect();
    assert_eq!(seen, [[true, false], [false, true]], "{pages:?}");
}

/// Another label at which a look is wanted takes nothing away.
#[test]
fn a_program_may_ask_for_a_look_at_what_a_function_holds() {
    let test = "holders::python::a_program_may_ask_for_a_look_at_what_a_function_holds";
    let folder = Folder::new();
    let script = program_that_asks(&folder);
    for python in interpreters::all(test).iter().filter(|python| NAMED.contains(&python.version.as_str())) {
        let options = ["-q", "--snapshot-at", "elsewhere"];
        let run = Heaplens::on(&python.path, &options).arg(&script).finish().expect_status(0);
        assert_looks_are_right(&run.recording());
    }
}

/// Versions whose names are read.
const NAMED: [&str; 4] = ["3.10", "3.11", "3.12", "3.13"];
