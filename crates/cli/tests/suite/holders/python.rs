//! Python programs that hold what they make in every way that Python has.

use std::path::{Path, PathBuf};

use super::{Held, holder_of, none_wrong};
use crate::harness::{Folder, Heaplens, shared_library};
use crate::python::{interpreters, script};

/// What a function holds is gone when it has returned: such a script asks for the snapshot itself, while the function runs.
const HELD: &[Held] = &[
    Held {
        what: "a global list",
        script: "kept = []\nfor i in range(400):\n  kept.append(bytearray(9_000)) # here",
        path: &["module __main__", "kept (list)", "[*] bytearray"],
    },
    Held {
        what: "a dictionary",
        script: "kept = {}\nfor i in range(400):\n  kept[i] = bytearray(9_000) # here",
        path: &["module __main__", "kept (dict)", "[*] bytearray"],
    },
    Held {
        what: "a list in a dictionary",
        script: "kept = {'rows': []}\nfor i in range(400):\n  kept['rows'].append(bytearray(9_000)) # here",
        path: &["module __main__", "kept (dict)", "['rows'] list", "[*] bytearray"],
    },
    Held {
        what: "a list on an object",
        script: "class Model:\n  pass\nmodel = Model()\nmodel.history = []\nfor i in range(400):\n  model.history.append(bytearray(9_000)) # here",
        path: &["module __main__", "model (Model)", ".history (list)", "[*] bytearray"],
    },
    Held {
        what: "a class attribute",
        script: "class Model:\n  seen = []\nfor i in range(400):\n  Model.seen.append(bytearray(9_000)) # here",
        path: &["module __main__", "Model (type)", ".seen (list)", "[*] bytearray"],
    },
    Held {
        what: "a slot",
        script: "class Box:\n  __slots__ = ('rows',)\nbox = Box()\nbox.rows = []\nfor i in range(400):\n  box.rows.append(bytearray(9_000)) # here",
        path: &["module __main__", "box (Box)", ".rows (list)", "[*] bytearray"],
    },
    Held {
        what: "a closure",
        script: "def collector():\n  kept = []\n  def add(value):\n    kept.append(value)\n  return add\nadd = collector()\nfor i in range(400):\n  add(bytearray(9_000)) # here",
        path: &["module __main__", "add (function)", "kept (list)", "[*] bytearray"],
    },
    Held {
        what: "a local variable",
        script: "import _heaplens\ndef work():\n  rows = []\n  for i in range(400):\n    rows.append(bytearray(9_000)) # here\n  _heaplens.snapshot()\nwork()",
        path: &["work (script.py:*)", "rows (list)", "[*] bytearray"],
    },
    Held {
        what: "a local variable of a worker thread",
        script: "import threading, _heaplens\ndef work():\n  rows = []\n  for i in range(400):\n    rows.append(bytearray(9_000)) # here\n  _heaplens.snapshot()\nthread = threading.Thread(target=work)\nthread.start()\nthread.join()",
        path: &["work (script.py:*)", "rows (list)", "[*] bytearray"],
    },
    Held {
        what: "a local variable, and for a while one of a library",
        script: "import copy, _heaplens
class Store:
  def __init__(self): self.rows = []
  def __copy__(self):
    del self
    _heaplens.snapshot()
def main():
  shop = {'store': Store()}
  for i in range(400):
    shop['store'].rows.append(bytearray(9_000)) # here
  copy.copy(shop['store'])
main()",
        path: &["main (script.py:*)", "shop (dict)", "['store'] Store", ".rows (list)", "[*] bytearray"],
    },
    Held {
        what: "a set",
        script: "kept = set()\nfor i in range(400):\n  kept.add(str(i).encode() * 3_000) # here",
        path: &["module __main__", "kept (set)"],
    },
    Held {
        what: "a deque",
        script: "import collections\nkept = collections.deque()\nfor i in range(400):\n  kept.append(bytearray(9_000)) # here",
        path: &["module __main__", "kept (deque)"],
    },
    Held {
        what: "a default argument",
        script: "def keep(value, into=[]):\n  into.append(value)\nfor i in range(400):\n  keep(bytearray(9_000)) # here",
        path: &["module __main__", "keep (function)"],
    },
    Held {
        what: "a cache without a bound",
        script: "import functools\n@functools.lru_cache(maxsize=None)\ndef load(key):\n  return bytearray(9_000) # here\nfor i in range(400): load(i)",
        path: &["module __main__", "load (_lru_cache_wrapper)"],
    },
    Held {
        what: "a module of their own",
        script: "import sys, types\nstore = types.ModuleType('store')\nsys.modules['store'] = store\nstore.rows = []\ndel store\nfor i in range(400):\n  sys.modules['store'].rows.append(bytearray(9_000)) # here",
        path: &["module store", "rows (list)", "[*] bytearray"],
    },
    Held {
        what: "an OrderedDict",
        script: "import collections\nkept = collections.OrderedDict()\nfor i in range(400):\n  kept[i] = bytearray(9_000) # here",
        path: &["module __main__", "kept (OrderedDict)", "[*] bytearray"],
    },
    Held {
        what: "a defaultdict",
        script: "import collections\nkept = collections.defaultdict(list)\nfor i in range(400):\n  kept['rows'].append(bytearray(9_000)) # here",
        path: &["module __main__", "kept (defaultdict)", "['rows'] list", "[*] bytearray"],
    },
    Held {
        what: "an object of a subclass of dict",
        script: "class Store(dict):\n  pass\nkept = Store()\nfor i in range(400):\n  kept[i] = bytearray(9_000) # here",
        path: &["module __main__", "kept (Store)", "[*] bytearray"],
    },
    Held {
        what: "a tuple in a list",
        script: "kept = []\nfor i in range(400):\n  kept.append((i, bytearray(9_000))) # here",
        path: &["module __main__", "kept (list)", "[*] tuple", "[*] bytearray"],
    },
    Held {
        what: "a frozenset",
        script: "kept = frozenset()\nfor i in range(400):\n  kept = kept | {str(i).encode() * 3_000} # here",
        path: &["module __main__", "kept (frozenset)", "element (bytes)"],
    },
    Held {
        what: "attributes of many objects",
        script: "class Row:\n  def __init__(self):\n    self.data = bytearray(9_000) # here\nkept = []\nfor i in range(400): kept.append(Row())",
        path: &["module __main__", "kept (list)", "[*] Row", ".data (bytearray)"],
    },
    Held {
        what: "an attribute beside slots",
        script: "class Base:\n  __slots__ = ('first',)\nclass Model(Base):\n  pass\nmodel = Model()\nmodel.history = []\nfor i in range(400):\n  model.history.append(bytearray(9_000)) # here",
        path: &["module __main__", "model (Model)", ".history (list)", "[*] bytearray"],
    },
    Held {
        what: "a function's attribute",
        script: "def work():\n  pass\nwork.rows = []\nfor i in range(400):\n  work.rows.append(bytearray(9_000)) # here",
        path: &["module __main__", "work (function)", ".rows (list)", "[*] bytearray"],
    },
    Held {
        what: "a keyword's default",
        script: "def keep(value, *, into=[]):\n  into.append(value)\nfor i in range(400):\n  keep(bytearray(9_000)) # here",
        path: &["module __main__", "keep (function)", "default of into (list)", "[*] bytearray"],
    },
    Held {
        what: "a bound method",
        script: "class Model:\n  def __init__(self):\n    self.rows = []\n  def add(self, value):\n    self.rows.append(value)\nadd = Model().add\nfor i in range(400):\n  add(bytearray(9_000)) # here",
        path: &["module __main__", "add (method)", ".__self__ (Model)", ".rows (list)", "[*] bytearray"],
    },
    Held {
        what: "an argument of a partial function",
        script: "import functools\nrows = []\ndef add(into, value):\n  into.append(value)\nadd = functools.partial(add, [])\ndel rows\nfor i in range(400):\n  add(bytearray(9_000)) # here",
        path: &["module __main__", "add (partial)", ".args (tuple)", "[*] list", "[*] bytearray"],
    },
    Held {
        what: "a cache with a bound",
        script: "import functools\n@functools.lru_cache(maxsize=10_000)\ndef load(key):\n  return bytearray(9_000) # here\nfor i in range(400): load(i)",
        path: &["module __main__", "load (_lru_cache_wrapper)", "[*] _lru_list_elem", ".result (bytearray)"],
    },
    Held {
        what: "a variable of a generator",
        script: "def collect():\n  rows = []\n  while True:\n    rows.append(bytearray(9_000)) # here\n    yield\nsteps = collect()\nfor i in range(400): next(steps)",
        path: &["module __main__", "steps (generator)", "rows (list)", "[*] bytearray"],
    },
    Held {
        what: "a variable of a coroutine",
        script: "import types\n@types.coroutine\ndef pause():\n  yield\nasync def collect():\n  rows = []\n  while True:\n    rows.append(bytearray(9_000)) # here\n    await pause()\nsteps = collect()\nfor i in range(400): steps.send(None)",
        path: &["module __main__", "steps (coroutine)", "rows (list)", "[*] bytearray"],
    },
    Held {
        what: "an exception",
        script: "error = ValueError([])\nfor i in range(400):\n  error.args[0].append(bytearray(9_000)) # here",
        path: &["module __main__", "error (ValueError)", ".args (tuple)", "[*] list", "[*] bytearray"],
    },
    Held {
        what: "a traceback",
        script: "def fail():\n  rows = []\n  for i in range(400):\n    rows.append(bytearray(9_000)) # here\n  raise ValueError\ntry:\n  fail()\nexcept ValueError as caught:\n  error = caught",
        path: &[
            "module __main__",
            "error (ValueError)",
            ".__traceback__ (traceback)",
            ".tb_next (traceback)",
            ".tb_frame (frame)",
            "rows (list)",
            "[*] bytearray",
        ],
    },
];

/// Nothing of what the function held is left at exit, and the loop is too short for a snapshot within the budget.
const SHORT_LOOP: &str = "
def work():
  rows = []
  for i in range(200):
    rows.append(bytearray(90_000))
    sum(range(20_000))
work()
";

#[test]
fn what_a_short_loop_kept_in_a_function_is_named() {
    let test = "holders::python::what_a_short_loop_kept_in_a_function_is_named";
    let folder = Folder::new();
    let script = folder.file("script.py");
    std::fs::write(&script, SHORT_LOOP).expect("the folder is writable");
    for python in &interpreters::all(test) {
        let found = holder_of(&python.path, &[script.to_str().expect("a plain path")], "script.py", 5);
        let expected = ["work (script.py:*)", "rows (list)", "[*] bytearray"].map(str::to_owned);
        // Where iterators go to free lists, nobody notices the end of the loop.
        let is_noticed = python.version != "3.14";
        let expected = if is_noticed { Ok(&expected[..]) } else { Err("nobody is named") };
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "Python {}", python.version);
    }
}

#[test]
fn every_way_to_hold_something_is_named() {
    let test = "holders::python::every_way_to_hold_something_is_named";
    let (folder, mut wrong, mut checked) = (Folder::new(), Vec::new(), 0);
    let pythons = interpreters::in_turn(test);
    for (case, held) in HELD.iter().enumerate() {
        let pythons = pythons.of(case);
        wrong.extend(pythons.iter().filter_map(|python| held.wrong(&python.path, &folder)));
        checked += pythons.len();
    }
    none_wrong(&wrong, checked);
}

/// Objects of C++ classes are known by their virtual tables, and count more than memory of no type that knows them as well.
#[test]
fn a_chain_of_native_objects_is_held_by_the_variable_that_holds_its_beginning() {
    let test = "holders::python::a_chain_of_native_objects_is_held_by_the_variable_that_holds_its_beginning";
    let (name, library) = ("chain_of_steps.py", shared_library("chain_of_steps.cpp"));
    let (program, library) = (script(name), library.display().to_string());
    let text = std::fs::read_to_string(&program).expect("a script of the tests");
    let line = text.lines().position(|line| line.ends_with("# here")).expect("a line is marked");
    for python in interpreters::some(test) {
        let words = [program.to_str().expect("a plain path"), &library];
        let found = holder_of(&python.path, &words, name, 1 + line as u64).expect("it is found");
        let beginning = ["module __main__", "newest (c_void_p)", "Step", ".before (Step)"];
        assert_eq!(found[..4], beginning, "Python {}", python.version);
    }
}

/// Each call waits until there is a snapshot of what the program held then: a function that goes on at once is seen all the same.
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

/// Both snapshots show what was held then. Others may have been taken because the program grew.
pub fn assert_snapshots_are_right(recording: &Path) {
    let page = |number: usize| {
        let output = Heaplens::bare(["heap", "--snapshot", &number.to_string()])
            .arg(recording)
            .output()
            .expect("it runs");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let pages: Vec<String> = (1..).map_while(page).filter(|page| page.contains("on request")).collect();
    let held = ["first (script.py:3) → rows (list)", "second (script.py:6) → lines (list)"];
    let seen: Vec<_> = pages.iter().map(|page| held.map(|held| page.contains(held))).collect();
    assert_eq!(seen, [[true, false], [false, true]], "{pages:?}");
}

/// Another label at which a snapshot is wanted takes nothing away.
#[test]
fn a_program_may_ask_for_a_snapshot_of_what_a_function_holds() {
    let test = "holders::python::a_program_may_ask_for_a_snapshot_of_what_a_function_holds";
    let folder = Folder::new();
    let script = program_that_asks(&folder);
    for python in &interpreters::versions(test) {
        let options = ["-q", "--snapshot-at", "elsewhere"];
        let run = Heaplens::on(&python.path, &options).arg(&script).finish().expect_status(0);
        assert_snapshots_are_right(&run.recording());
    }
}
