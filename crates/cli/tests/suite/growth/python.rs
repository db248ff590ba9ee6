//! Python programs, drawn: who holds the blocks, how large they are, how often one is kept, what comes and goes beside them.

use std::path::Path;

use super::dice::Dice;
use super::{Program, Truth, write};

/// A way to hold something: what is there before the loop, the statement that keeps `NEW`, and a step of the reference path to it.
const HOLDERS: [(&str, &str, &str, &str); 8] = [
    ("global list", "kept = []", "kept.append(NEW)", "kept (list)"),
    ("global dict", "kept = {}", "kept[step] = NEW", "kept (dict)"),
    ("deque", "import collections\nkept = collections.deque()", "kept.append(NEW)", "kept (deque)"),
    (
        "attribute",
        "class Model: pass\nmodel = Model()\nmodel.history = []",
        "model.history.append(NEW)",
        ".history (list)",
    ),
    ("class attribute", "class Model:\n    seen = []", "Model.seen.append(NEW)", ".seen (list)"),
    ("chain", "class Node:\n    __slots__ = 'value', 'next'\nhead = [None]", "chain(NEW)", "head (list)"),
    ("default argument", "def keep(value, into=[]): into.append(value)", "keep(NEW)", "keep (function)"),
    (
        "closure",
        "def collector():\n    kept = []\n    return kept.append\nkeep = collector()",
        "keep(NEW)",
        "keep (builtin_function_or_method)",
    ),
];

/// A thing of about so many bytes.
struct Thing {
    name: &'static str,
    /// The expression that makes one.
    make: fn(u64) -> String,
    /// What CPython asks its allocator for.
    bytes: fn(u64) -> u64,
}

const THINGS: [Thing; 3] = [
    Thing { name: "bytearray", make: |size| format!("bytearray({size})"), bytes: |size| size + 1 + 56 },
    Thing { name: "bytes", make: |size| format!("bytes({size})"), bytes: |size| size + 33 },
    Thing { name: "list", make: |size| format!("[None] * {}", size / 8), bytes: |size| size / 8 * 8 + 56 },
];

/// What does not grow: what is there before the loop, and the statements of an iteration. `{k}` is a bound that is reached within
/// a third of the run, `{n}` the iterations, `{new}` a thing.
const BOUNDED: [(&str, &str, &str); 12] = [
    ("ring", "kept = {}", "kept[step % {k}] = {new}"),
    ("memory that stops", "kept = {}", "if step % {k} not in kept: kept[step % {k}] = {new}"),
    ("random memory", "kept = {}", "kept.setdefault(random.randrange({few}), {new})"),
    (
        "lru_cache",
        "import functools\n@functools.lru_cache(maxsize={k})\ndef load(key): return {new}",
        "load(step)",
    ),
    (
        "ordered cache",
        "import collections\nkept = collections.OrderedDict()",
        "kept[step] = {new}\n        if len(kept) > {k}: kept.popitem(last=False)",
    ),
    ("queue", "import collections\nkept = collections.deque(maxlen={k})", "kept.append({new})"),
    ("plateau", "kept = []", "if step < {n} // 3: kept.append({new})"),
    ("once", "kept = []", "if step == {once}: kept.append(bytearray(2_000_000))"),
    ("nothing", "", "{new}"),
    ("cleared list", "kept = []", "kept.append({new})\n        if len(kept) >= {k}: kept.clear()"),
    (
        "cycles",
        "import gc\ngc.set_threshold({k}, 1, 1)\nclass Node: pass",
        "node = Node(); node.self = node; node.value = {new}; del node",
    ),
    ("window", "kept = []", "kept.append({new})\n        if len(kept) > {k}: del kept[: {k} // 2]"),
];

/// Less than a hundredth of what is resident is not reported.
const LEAST_GROWTH: u64 = 256 << 10;

/// A program that grows.
pub fn growing(dice: &mut Dice, folder: &Path, python: &Path, number: usize) -> Program {
    let (holder, before, keep, step) = *dice.pick(&HOLDERS);
    let thing = dice.pick(&THINGS);
    let (iterations, size) = (dice.between(200, 600), dice.between(2_000, 60_000));
    let period = if dice.between(0, 2) == 0 { dice.between(2, iterations / 20) } else { 1 };
    let period = if (thing.bytes)(size) * iterations / period < LEAST_GROWTH { 1 } else { period };
    let condition = if period == 1 { String::new() } else { format!("if step % {period} == 0: ") };
    let keep = keep.replace("NEW", &(thing.make)(size));
    let script = Script { before: before.to_owned(), statement: format!("{condition}{keep}"), iterations };
    let (text, line) = script.text(dice);
    // A chain has its node beside the thing, a list or a dict its slot: little enough to be within what is allowed.
    let bytes = ((thing.bytes)(size) + 9) as f64 / period as f64;
    let name = format!("{number}: {holder} of {}({size}) every {period} of {iterations}", thing.name);
    let program = program(name, folder, python, &text, Truth::Grows { bytes, line });
    Program { holder: Some(step), ..program }
}

/// One that does not.
pub fn bounded(dice: &mut Dice, folder: &Path, python: &Path, number: usize) -> Program {
    let (kind, before, statement) = *dice.pick(&BOUNDED);
    let make = dice.pick(&THINGS).make;
    let (iterations, size) = (dice.between(200, 600), dice.between(600, 60_000));
    let (bound, once) = (dice.between(8, iterations / 5), dice.between(1, iterations - 1));
    let fill = |text: &str| {
        text.replace("{k}", &bound.to_string())
            .replace("{few}", &(iterations / 12).to_string())
            .replace("{n}", &iterations.to_string())
            .replace("{once}", &once.to_string())
            .replace("{new}", &make(size))
    };
    let script = Script { before: fill(before), statement: fill(statement), iterations };
    let (text, _) = script.text(dice);
    program(
        format!("{number}: {kind} of {} by {bound} in {iterations}", make(size)),
        folder,
        python,
        &text,
        Truth::Bounded,
    )
}

fn program(name: String, folder: &Path, python: &Path, text: &str, truth: Truth) -> Program {
    let number = name.split(':').next().unwrap_or_default();
    let file = format!("program_{number}.py");
    let path = folder.join(&file);
    write(&path, text);
    Program {
        name: format!("python {name}"),
        command: python.to_owned(),
        words: vec![path.display().to_string()],
        truth,
        file,
        holder: None,
    }
}

struct Script {
    before: String,
    statement: String,
    iterations: u64,
}

impl Script {
    /// The text, and the line of the statement. Beside it may stand what warms up and what comes and goes.
    fn text(&self, dice: &mut Dice) -> (String, u64) {
        let mut lines: Vec<String> = vec!["import random".into()];
        lines.extend((0..dice.between(0, 9)).map(|number| format!("# line {number}")));
        lines.extend(self.before.lines().map(str::to_owned));
        lines.push("def chain(value):".into());
        lines.push("    node = Node(); node.value = value; node.next = head[0]; head[0] = node".into());
        lines.push("warm = []".into());
        lines.push(format!("def work():\n    for step in range({}):", self.iterations));
        if dice.between(0, 1) == 0 {
            lines.push(format!(
                "        noise = bytearray(random.randrange({}))",
                dice.between(1_000, 40_000)
            ));
        }
        if dice.between(0, 1) == 0 {
            let (until, size) = (dice.between(5, self.iterations / 4), dice.between(1_000, 20_000));
            lines.push(format!("        if step < {until}: warm.append(bytearray({size}))"));
        }
        let line = 1 + lines.iter().map(|text| text.lines().count() as u64).sum::<u64>();
        lines.push(format!("        {}", self.statement));
        lines.push("        sum(range(50))".into());
        lines.push("work()".into());
        (lines.join("\n") + "\n", line)
    }
}
