//! A fixed set of small programs, each with its label, and programs that others wrote.

use std::path::PathBuf;

use super::dice::Dice;
use super::native::Source;
use super::{Program, Truth, python, try_all, write};
use crate::harness::{Folder, skip};

/// Scripts that grow. The line is the one that says `# here`; bytes for each iteration where they are known.
const GROWING: &[(&str, Option<f64>, &str)] = &[
    (
        "results of a function",
        Some(10_041.0),
        "def main():\n  all = []\n  for i in range(300):\n    all.append(bytes(10_000)) # here\nmain()",
    ),
    (
        "a dictionary by number",
        Some(5_049.0),
        "d = {}\nfor i in range(400):\n  d[i] = str(i % 10) * 5_000 # here",
    ),
    (
        "a registry of instances",
        Some(8_100.0),
        "class A:\n  every = []\n  def __init__(self):\n    self.data = bytearray(8_000) # here\n    A.every.append(self)\nfor i in range(300): A()",
    ),
    (
        "callbacks that hold their data",
        Some(6_033.0),
        "calls = []\ndef add():\n  data = bytes(6_000) # here\n  calls.append(lambda: data)\nfor i in range(300): add()",
    ),
    (
        "handlers of a logger",
        None,
        "import logging\nclass H(logging.Handler):\n  def __init__(self):\n    super().__init__()\n    self.buffer = bytearray(4_000) # here\nfor i in range(300): logging.getLogger('x').addHandler(H())",
    ),
    (
        "a cache without a bound",
        Some(7_033.0),
        "import functools\n@functools.lru_cache(maxsize=None)\ndef load(key):\n  return bytes(7_000) # here\nfor i in range(300): load(i)",
    ),
    (
        "generators that never end",
        Some(9_090.0),
        "kept = []\ndef numbers():\n  data = bytearray(9_000) # here\n  yield 1\n  yield data\nfor i in range(300):\n  g = numbers(); next(g); kept.append(g)",
    ),
    (
        "exceptions with their frames",
        None,
        "kept = []\ndef fail():\n  data = bytearray(5_000) # here\n  raise ValueError(i)\nfor i in range(300):\n  try: fail()\n  except ValueError as error: kept.append(error)",
    ),
    (
        "a string that becomes longer",
        Some(3_000.0),
        "text = ''\nfor i in range(400):\n  text += 'abc' * 1_000 # here",
    ),
    (
        "a buffer that is extended",
        Some(4_000.0),
        "b = bytearray()\nfor i in range(400):\n  b.extend(bytes(4_000)) # here",
    ),
    (
        "every tenth iteration",
        Some(2_005.0),
        "kept = []\nfor i in range(600):\n  if i % 10 == 0: kept.append(bytearray(20_000)) # here",
    ),
    (
        "lists by key",
        Some(3_035.0),
        "import collections\nd = collections.defaultdict(list)\nfor i in range(500):\n  d[i % 7].append(bytes(3_000)) # here",
    ),
    (
        "a loop without a range",
        Some(5_041.0),
        "kept = []\nwhile len(kept) < 300:\n  kept.append(bytes(5_000)) # here",
    ),
    (
        "answers of a server to its only client",
        None,
        "import asyncio, json\nCACHE = {}\nasync def serve(reader, writer):\n  while line := await reader.readline():\n    key = line.decode().strip()\n    if key not in CACHE:\n      CACHE[key] = json.dumps([{'id': n, 'title': f'{key} {n}'} for n in range(60)]) # here\n    writer.write(CACHE[key].encode() + b'\\n')\n    await writer.drain()\n  done.set()\nasync def ask(port):\n  reader, writer = await asyncio.open_connection('127.0.0.1', port)\n  for number in range(1500):\n    writer.write(f'word-{number}\\n'.encode())\n    await reader.readline()\n  writer.close()\nasync def main():\n  global done\n  done = asyncio.Event()\n  server = await asyncio.start_server(serve, '127.0.0.1', 0)\n  await ask(server.sockets[0].getsockname()[1])\n  await done.wait()\nasyncio.run(main())",
    ),
    (
        "threads that leave something",
        Some(6_041.0),
        "import threading\nkept = []\ndef work():\n  kept.append(bytes(6_000)) # here\nfor i in range(120):\n  t = threading.Thread(target=work); t.start(); t.join()",
    ),
    (
        "a database in memory",
        None,
        "import sqlite3\nc = sqlite3.connect(':memory:'); c.execute('create table t(x)')\nfor i in range(400):\n  c.execute('insert into t values (?)', (b'x' * 6_000,)) # here",
    ),
];

/// A script whose garbage waits for a collector that never comes.
const GARBAGE: &str = "import gc; gc.disable()\nclass N: pass\nfor i in range(300):\n  n = N(); n.me = n\n  n.data = bytearray(7_000) # here";

/// Scripts that do not.
const BOUNDED: &[(&str, &str)] = &[
    ("nothing", "for i in range(500): sum(range(100))"),
    (
        "a bounded cache",
        "import functools\n@functools.lru_cache(maxsize=64)\ndef load(key): return bytes(9_000)\nfor i in range(600): load(i)",
    ),
    (
        "json there and back",
        "import json\nfor i in range(500): json.loads(json.dumps({'a': list(range(200)), 'i': i}))",
    ),
    ("patterns, whose cache is bounded", "import re\nfor i in range(2_500): re.compile('a{%d}b' % i)"),
    (
        "rows that are deleted",
        "import sqlite3\nc = sqlite3.connect(':memory:'); c.execute('create table t(x)')\nfor i in range(400):\n  c.execute('insert into t values (?)', (b'x' * 6_000,))\n  c.execute('delete from t')",
    ),
    (
        "cycles that are collected",
        "class N: pass\nfor i in range(6_000):\n  n = N(); n.me = n; n.data = bytearray(3_000)",
    ),
    ("sorted copies", "for i in range(400): sorted(range(3_000), reverse=True)"),
    (
        "a window",
        "import collections\nw = collections.deque(maxlen=50)\nfor i in range(500): w.append(bytearray(8_000))",
    ),
    (
        "weak values",
        "import weakref\nclass V: pass\nd = weakref.WeakValueDictionary()\nfor i in range(500):\n  v = V(); v.data = bytearray(4_000); d[i] = v",
    ),
    (
        "a memory of all there is",
        "memory = {}\ndef f(n): return memory.setdefault(n, bytes(5_000))\nfor i in range(600): f(i * i % 61)",
    ),
    (
        "threads that leave nothing",
        "import threading\ndef work(): return bytearray(20_000)\nfor i in range(120):\n  t = threading.Thread(target=work); t.start(); t.join()",
    ),
    ("files in memory", "import io\nfor i in range(500): io.BytesIO(bytes(30_000)).read()"),
    (
        "a table that is built once",
        "kept = []\nfor i in range(400):\n  if i == 200: kept.extend(bytearray(1_000) for _ in range(2_000))\n  sum(range(50))",
    ),
    (
        "a third of the run",
        "kept = []\nfor i in range(600):\n  if i < 200: kept.append(bytearray(5_000))\n  sum(range(50))",
    ),
    (
        "batches that are flushed",
        "batch = []\nfor i in range(600):\n  batch.append(bytearray(5_000))\n  if len(batch) == 40: batch.clear()",
    ),
    (
        "a pool of buffers",
        "import random\nrandom.seed(5)\npool = {}\nfor i in range(800): pool.setdefault(random.randrange(40), bytearray(9_000))",
    ),
];

/// Commands that others wrote; none of them leaks.
const FOREIGN: &[(&str, &[&str])] = &[
    ("sh", &["-c", "seq 300000 | sort -r | tail -1"]),
    ("gzip", &["-c", "/bin/bash"]),
    ("awk", &["BEGIN { for (i = 0; i < 300000; i++) a[i % 100] = i; print a[5] }"]),
    ("perl", &["-e", "for (1..200000) { $h{$_ % 100} = 'x' x 100 } print scalar(keys %h)"]),
    ("python3", &["-m", "timeit", "-n", "2000", "-r", "3", "[i for i in range(500)]"]),
    ("python3", &["-m", "json.tool", "--help"]),
    ("python3", &["-c", "import this"]),
    ("find", &["/usr/lib/python3", "-name", "*.py"]),
];

fn script(folder: &Folder, number: usize, name: &str, text: &str, bytes: Option<Option<f64>>) -> Program {
    let file = format!("labelled_{number}.py");
    let path = folder.file(&file);
    write(&path, text);
    let line = text.lines().position(|line| line.ends_with("# here")).map_or(0, |at| at as u64 + 1);
    let truth = match bytes {
        Some(Some(bytes)) => Truth::Grows { bytes, line },
        Some(None) => Truth::Leaks { line },
        None => Truth::Bounded,
    };
    Program {
        name: name.to_owned(),
        command: python().to_owned(),
        words: vec![path.display().to_string()],
        truth,
        file,
        holder: None,
    }
}

#[test]
fn scripts_with_a_label_get_their_verdict() {
    let folder = Folder::new();
    let growing = GROWING.iter().map(|(name, bytes, text)| (*name, *text, Some(*bytes)));
    let bounded = BOUNDED.iter().map(|(name, text)| (*name, *text, None));
    let numbered = growing.chain(bounded).enumerate();
    let programs: Vec<Program> =
        numbered.map(|(number, (name, text, bytes))| script(&folder, number, name, text, bytes)).collect();
    try_all(&programs, None);
}

#[test]
fn cycles_that_wait_for_the_collector_are_distinguished_from_a_leak() {
    let folder = Folder::new();
    let mut program = script(&folder, 0, "cycles without a collector", GARBAGE, Some(None));
    let Truth::Leaks { line } = program.truth else { panic!("it has a line") };
    program.truth = Truth::Garbage { line };
    try_all(&[program], None);
}

#[test]
fn native_programs_with_a_label_get_their_verdict() {
    let (folder, mut dice, mut source) = (Folder::new(), Dice::new(20), Source::new());
    for _ in 0..4 {
        source.growing(&mut dice, None);
        source.bounded(&mut dice, None);
    }
    try_all(&source.build(folder.path()), None);
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn programs_that_others_wrote_are_not_called_leaks() {
    let test = "growth::labelled::programs_that_others_wrote_are_not_called_leaks";
    let mut programs = Vec::new();
    for (command, words) in FOREIGN {
        let Some(path) = in_path(command) else {
            skip(test, &format!("{command} is not on this machine"));
            continue;
        };
        programs.push(Program {
            name: format!("{command} {}", words.join(" ")),
            command: path,
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            truth: Truth::Foreign,
            file: String::new(),
            holder: None,
        });
    }
    try_all(&programs, None);
}

fn in_path(command: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(command)).find(|file| file.is_file())
}
