//! Holders of the standard library that are known by the reference path: each is recognised on every interpreter, and gives the fix.

use std::path::Path;

use super::{none_wrong, report_of};
use crate::harness::Folder;
use crate::python::interpreters;

/// The row of the table, a word of its fix, and a script whose line that ends in `# here` allocates what is kept.
struct KnownHolder(&'static str, &'static str, &'static str);

const KNOWN: &[KnownHolder] = &[
    KnownHolder(
        "P6",
        "with_traceback",
        "failures = []
def load(i):
  body = bytearray(9_000) # here
  raise ValueError(i)
for i in range(400):
  try: load(i)
  except ValueError as error: failures.append(error)",
    ),
    KnownHolder(
        "P2",
        "cached_property",
        "import functools
class Rules:
  def __init__(self):
    self.table = bytearray(9_000) # here
  @functools.lru_cache(maxsize=None)
  def applicable(self, day): return day
for i in range(400): Rules().applicable(i)",
    ),
    KnownHolder(
        "P13",
        "maxsize",
        "import functools
@functools.lru_cache(maxsize=None)
def load(key): return bytearray(9_000) # here
for i in range(400): load(i)",
    ),
    KnownHolder(
        "P3",
        "LoggerAdapter",
        "import logging
for i in range(400):
  logging.getLogger('job-%d' % i).job = bytearray(9_000) # here",
    ),
    KnownHolder(
        "P14",
        "removeHandler",
        "import logging
log = logging.getLogger('jobs')
for i in range(400):
  handler = logging.StreamHandler()
  handler.job = bytearray(9_000) # here
  log.addHandler(handler)",
    ),
    KnownHolder(
        "P15",
        "removeFilter",
        "import logging
class Only(logging.Filter): pass
log = logging.getLogger('jobs')
for i in range(400):
  only = Only()
  only.job = bytearray(9_000) # here
  log.addFilter(only)",
    ),
    KnownHolder(
        "P16",
        "target",
        "import logging, logging.handlers
log = logging.getLogger('jobs')
log.addHandler(logging.handlers.MemoryHandler(100_000, flushLevel=99))
for i in range(400):
  log.error('%s', bytearray(9_000)) # here
import _heaplens; _heaplens.snapshot()
log.handlers[0].buffer.clear()",
    ),
    KnownHolder(
        "P17",
        "reset_mock",
        "import unittest.mock
mailer = unittest.mock.Mock()
for i in range(400):
  mailer(bytearray(9_000)) # here",
    ),
    KnownHolder(
        "P18",
        "clear_memo",
        "import pickle
class Nowhere:
  def write(self, data): return len(data)
writer = pickle.Pickler(Nowhere())
for i in range(400):
  writer.dump([b'%d' % i * 3_000]) # here",
    ),
    KnownHolder(
        "P19",
        "linecache.cache",
        "import linecache
for i in range(400):
  name = '<generated %d>' % i
  linecache.cache[name] = (9_000, None, ['%d' % i * 3_000], name) # here",
    ),
    KnownHolder(
        "P23",
        "staticmethod",
        "import weakref
class Client:
  def __init__(self):
    self.table = bytearray(9_000) # here
    weakref.finalize(self, self.close)
  def close(self): pass
for i in range(400): Client()
import _heaplens; _heaplens.snapshot()",
    ),
    KnownHolder(
        "P24",
        "weakref",
        "import weakref
class Layer: pass
notes = weakref.WeakKeyDictionary()
for i in range(400):
  layer = Layer()
  notes[layer] = (layer, bytearray(9_000)) # here",
    ),
    KnownHolder(
        "P26",
        "cancel",
        "import threading
timers = []
for i in range(400):
  timers.append(threading.Timer(3_600, print, [bytearray(9_000)])) # here",
    ),
    KnownHolder(
        "P27",
        "cancel",
        "import asyncio
loop = asyncio.new_event_loop()
for i in range(400):
  loop.call_later(3_600, print, bytearray(9_000)) # here",
    ),
    KnownHolder(
        "P28",
        "cancel",
        "import sched
plan = sched.scheduler()
for i in range(400):
  plan.enter(3_600, 1, print, (bytearray(9_000),)) # here",
    ),
    KnownHolder(
        "P29",
        "islice",
        "import itertools
def frames():
  for i in range(400):
    yield bytearray(9_000) # here
first, second = itertools.tee(frames())
for frame in first: pass",
    ),
    KnownHolder(
        "P30",
        "gather",
        "later = []
async def send(body): pass
for i in range(400):
  later.append(send(bytearray(9_000))) # here
import _heaplens; _heaplens.snapshot()
list(map(type(later[0]).close, later))",
    ),
    KnownHolder(
        "P31",
        "aclose",
        "cursors = []
async def rows(body): yield body
for i in range(400):
  cursors.append(rows(bytearray(9_000))) # here",
    ),
    KnownHolder(
        "P4",
        "discard",
        "import asyncio
background = set()
async def work():
  return bytearray(9_000) # here
async def main():
  for i in range(400):
    task = asyncio.ensure_future(work())
    background.add(task)
    await task
asyncio.run(main())",
    ),
    KnownHolder(
        "P32",
        "remove_done_callback",
        "import asyncio, functools
loop = asyncio.new_event_loop()
closed = loop.create_future()
for i in range(400):
  closed.add_done_callback(functools.partial(print, bytearray(9_000))) # here",
    ),
    KnownHolder(
        "P33",
        "Semaphore",
        "import concurrent.futures, threading
gate = threading.Event()
pool = concurrent.futures.ThreadPoolExecutor(1)
pool.submit(gate.wait)
for i in range(400):
  pool.submit(len, bytearray(9_000)) # here
import _heaplens; _heaplens.snapshot()
gate.set()",
    ),
    KnownHolder(
        "P34",
        "as_completed",
        "import concurrent.futures
futures = []
for i in range(400):
  future = concurrent.futures.Future()
  future.set_result(bytearray(9_000)) # here
  futures.append(future)",
    ),
    KnownHolder(
        "P35",
        "join",
        "import threading
threads = []
for i in range(400):
  threads.append(threading.Thread(target=print, args=(bytearray(9_000),))) # here",
    ),
    KnownHolder(
        "P36",
        "pool",
        "import threading
state = threading.local()
state.known = []
for i in range(400):
  state.known.append(bytearray(9_000)) # here",
    ),
    KnownHolder(
        "P10",
        "maxsize",
        "import queue
inbox = queue.Queue()
for i in range(400):
  inbox.put(bytearray(9_000)) # here",
    ),
    KnownHolder(
        "P10",
        "maxsize",
        "import asyncio
inbox = asyncio.Queue()
for i in range(400):
  inbox.put_nowait(bytearray(9_000)) # here",
    ),
    KnownHolder(
        "P38",
        "returncode",
        "import subprocess
history = []
for i in range(400):
  history.append(subprocess.CompletedProcess([], 0, bytearray(9_000))) # here",
    ),
    KnownHolder(
        "P12",
        "close()",
        "handles = []
for i in range(400):
  handles.append(open(__file__)) # here",
    ),
    KnownHolder(
        "P48",
        "clear()",
        "import xml.etree.ElementTree as tree
parser = tree.XMLPullParser()
parser.feed('<rows>')
for i in range(400):
  parser.feed('<row>%s</row>' % ('%d' % i * 3_000)) # here",
    ),
    KnownHolder(
        "P7",
        "bytes(view)",
        "flows = []
for i in range(400):
  flows.append(memoryview(bytearray(9_000))[:20]) # here",
    ),
    KnownHolder(
        "P50",
        "None",
        "def keep(value, into=[]):
  into.append(value)
for i in range(400):
  keep(bytearray(9_000)) # here",
    ),
    KnownHolder(
        "P51",
        ".get()",
        "import collections
kept = collections.defaultdict(bytearray)
for i in range(400):
  kept[i].extend(bytes(9_000)) # here",
    ),
    KnownHolder(
        "P52",
        "maxlen",
        "import collections
undo = collections.deque()
for i in range(400):
  undo.append(bytearray(9_000)) # here",
    ),
];

impl KnownHolder {
    /// Runs it and says what is wrong; `None`: nothing.
    fn wrong(&self, python: &Path, folder: &Folder) -> Option<String> {
        let Self(row, word, script) = self;
        let path = folder.file("script.py");
        std::fs::write(&path, script).expect("the folder is writable");
        let line = script.lines().position(|line| line.ends_with("# here")).expect("a line is marked");
        let found = report_of(python, &[path.to_str().expect("a plain path")], "script.py", 1 + line as u64);
        let is_right = found.as_ref().is_ok_and(|finding| {
            finding["holder"]["known"]["rule"] == *row
                && finding["fix"].as_str().is_some_and(|fix| fix.contains(word))
        });
        let seen = || {
            found
                .as_ref()
                .map(|finding| (finding["rule"].clone(), finding["holder"].clone(), finding["fix"].clone()))
        };
        (!is_right).then(|| format!("{row} on {}: {:?}", python.display(), seen()))
    }
}

#[test]
fn known_holders_are_recognised_and_give_the_fix() {
    let test = "holders::known::known_holders_are_recognised_and_give_the_fix";
    let (folder, mut wrong, mut checked) = (Folder::new(), Vec::new(), 0);
    let pythons = interpreters::in_turn(test);
    for (case, known) in KNOWN.iter().enumerate() {
        let pythons = pythons.of(case);
        wrong.extend(pythons.iter().filter_map(|python| known.wrong(&python.path, &folder)));
        checked += pythons.len();
    }
    none_wrong(&wrong, checked);
}
