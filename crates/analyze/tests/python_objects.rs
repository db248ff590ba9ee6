//! Names of Python's objects against what interpreters say of themselves: a program builds objects, prints what they are called,
//! and is stopped; reading its memory must give the same.

mod python;

use std::collections::{BTreeMap, BTreeSet};

use heaplens_analyze::heap::python::{Python, PythonObject, ReferenceName, RootName};
use heaplens_analyze::heap::{NonOwningPart, ReadMemory};
use heaplens_cpython::{Layout, Version};
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{Block, Span};
use proptest::prelude::*;
use python::{Memory, Stopped, installed, skip};
use serde_json::Value;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/python_names.py");
const VERSIONS: [&str; 7] = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"];

fn address(value: &Value) -> Addr {
    Addr::new(number(value))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn rows<'a>(truth: &'a Value, name: &str) -> &'a [Value] {
    truth[name].as_array().unwrap()
}

fn said(step: Option<ReferenceName>) -> String {
    match step {
        None => "nothing".into(),
        Some(ReferenceName::Attribute(name)) => format!("attribute {name}"),
        Some(ReferenceName::Key(key)) => format!("key {key}"),
        Some(ReferenceName::Item(index)) => format!("item {index}"),
        Some(ReferenceName::KeyObject) => "key object".into(),
        Some(ReferenceName::Element) => "element".into(),
        Some(ReferenceName::Local(name)) => format!("local {name}"),
        Some(ReferenceName::Closure(name)) => format!("closure {name}"),
        Some(ReferenceName::Default(name)) => format!("default {name}"),
        Some(ReferenceName::Contents) => "contents".into(),
    }
}

/// Runs the program in every version that is here, and a check on each of them.
fn in_every_version(test: &str, check: impl Fn(&Stopped, &Python<Memory>)) {
    for interpreter in installed(test, &VERSIONS) {
        let stopped = Stopped::run(&interpreter, &["-I", PROGRAM]);
        let (major, minor) = stopped.version();
        if !VERSIONS.contains(&&*format!("{major}.{minor}")) {
            skip(test, &format!("{} is a Python {major}.{minor}", interpreter.display()));
            continue;
        }
        let python = Python::open(&stopped.memory, (major, minor), Addr::new(stopped.runtime()));
        check(&stopped, &python.expect("an interpreter that is known"));
    }
}

/// States of interpreters differ between patch releases.
#[test]
fn an_interpreter_says_of_itself_what_the_tables_have() {
    in_every_version("an_interpreter_says_of_itself_what_the_tables_have", |stopped, _| {
        let (major, minor) = stopped.version();
        let version = Version::new(major, minor);
        let said = Layout::read(&stopped.memory, version, stopped.runtime()).expect("a layout that is known");
        let table = Layout::of(version).expect("a version that is known");
        assert_eq!(said, Layout { runtime: said.runtime, interpreter: said.interpreter, ..*table });
    });
}

#[test]
fn every_step_is_said_as_the_program_says_it() {
    in_every_version("every_step_is_said_as_the_program_says_it", |stopped, python| {
        let mut wrong = Vec::new();
        for row in rows(&stopped.truth, "steps") {
            let found = said(python.step(address(&row[0]), address(&row[1]), &|_| true));
            if found != text(&row[2]) {
                wrong.push(format!("{} but {found}", text(&row[2])));
            }
        }
        assert_eq!(wrong, [""; 0], "{:?}", stopped.version());
    });
}

#[test]
fn a_weak_reference_leads_nowhere() {
    in_every_version("a_weak_reference_leads_nowhere", |stopped, python| {
        for row in rows(&stopped.truth, "weak") {
            assert_eq!(python.step(address(&row[0]), address(&row[1]), &|_| true), None);
        }
    });
}

#[test]
fn containers_have_their_lengths() {
    in_every_version("containers_have_their_lengths", |stopped, python| {
        for row in rows(&stopped.truth, "lengths") {
            assert_eq!(python.length(address(&row[0])), Some(number(&row[1])), "{:?}", stopped.version());
        }
    });
}

type Local = (String, String, u32, String, u32, u64);

#[test]
fn names_begin_at_modules_and_at_variables_of_functions_that_run() {
    in_every_version("names_begin_at_modules_and_at_variables_of_functions_that_run", |stopped, python| {
        let expected: BTreeSet<Local> = rows(&stopped.truth, "roots").iter().map(local).collect();
        let functions: BTreeSet<&str> = expected.iter().map(|local| local.0.as_str()).collect();
        let (mut modules, mut locals, mut dicts) = (Vec::new(), BTreeSet::new(), 0);
        for root in python.roots() {
            match root.name {
                RootName::Module(name) => modules.push((name, root.object.get())),
                RootName::Local { running, variable, .. } if variable == "locals()" => {
                    assert_eq!((running.function.as_str(), running.file.as_str()), ("<module>", "<made>"));
                    dicts += 1;
                }
                RootName::Local { running, variable, thread } if functions.contains(&*running.function) => {
                    let thread = thread.expect("a thread has a number");
                    let first_line = running.first_line;
                    locals.insert((
                        running.function,
                        running.file,
                        first_line,
                        variable,
                        thread,
                        root.object.get(),
                    ));
                }
                RootName::Local { .. }
                | RootName::Temporary { .. }
                | RootName::Interpreter(_)
                | RootName::NumberedModule(_) => {}
            }
        }
        assert_eq!(locals, expected, "{:?}", stopped.version());
        assert_eq!(dicts, 1, "the dict that code was executed in");
        let expected = rows(&stopped.truth, "modules").iter();
        let expected: Vec<(String, u64)> =
            expected.map(|row| (text(&row[0]).into(), number(&row[1]))).collect();
        assert_eq!(modules, expected);
    });
}

#[test]
fn what_a_loop_runs_over_is_a_temporary_of_its_function() {
    in_every_version("what_a_loop_runs_over_is_a_temporary_of_its_function", |stopped, python| {
        let roots = python.roots();
        let of_loop = roots.iter().filter(
            |root| matches!(&root.name, RootName::Temporary { running, .. } if running.function == "execute"),
        );
        let mut classes = of_loop.map(|root| class_of(stopped, python, root.object.get()));
        assert!(classes.any(|class| class.as_deref() == Some("list_iterator")), "{:?}", stopped.version());
    });
}

fn local(row: &Value) -> Local {
    let small = |at: usize| number(&row[at]) as u32;
    let string = |at: usize| text(&row[at]).to_owned();
    (string(0), string(1), small(2), string(3), small(4), number(&row[5]))
}

/// Bytes drawn by chance wherever they are asked for. Many of their words are addresses, and all pages lie within a few.
struct Noise(u64);

impl ReadMemory for Noise {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        let words = (address / 8..).zip(into.chunks_mut(8));
        for (word, bytes) in words {
            let mixed =
                (word ^ self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(self.0 | 1);
            let value = match mixed >> 61 {
                0 => mixed & 0xff,
                1 => mixed & 0xffff_ffff,
                2 => mixed,
                _ => 0x7f00_0000_0000 | (mixed & 0xff_fff8),
            };
            bytes.copy_from_slice(&value.to_le_bytes()[..bytes.len()]);
        }
        into.len()
    }
}

/// Memory of an interpreter where by chance every so many words are others.
struct Torn<'a>(&'a Memory, Noise, u64);

impl ReadMemory for Torn<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        let filled = self.0.read(address, into);
        let mut noise = [0; 8];
        for (word, bytes) in (address / 8..).zip(into[..filled].chunks_mut(8)) {
            if word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & 0xffff < self.2 {
                self.1.read(8 * word, &mut noise);
                bytes.copy_from_slice(&noise[..bytes.len()]);
            }
        }
        filled
    }
}

/// Asks everything that can be asked of a few objects.
fn ask_everything<M: ReadMemory>(python: &Python<M>, objects: &[u64]) {
    for pair in objects.windows(2) {
        let [first, second] = [pair[0], pair[1]].map(Addr::new);
        let _ = (python.step(first, second, &|_| true), python.length(first), python.parts(first));
        let words = [pair[0], pair[1], 1, pair[1], 1, pair[0]];
        let object = python.object_in(Block { address: first, size: Bytes::new(512), site: 0 }, &words);
        object.inspect(|&object| drop((python.class_name(object.class), python.non_owning_parts(object))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn memory_of_any_bytes_gives_no_interpreter_and_no_panic(seed: u64, minor in 8u8..15, runtime: u64, at: u64) {
        let memory = Noise(seed);
        if let Some(python) = Python::open(&memory, (3, minor), Addr::new(runtime)) {
            ask_everything(&python, &[at, runtime, seed, 0, u64::MAX]);
            let _ = python.roots();
        }
    }
}

#[test]
fn memory_that_is_torn_is_read_to_an_end() {
    let test = "memory_that_is_torn_is_read_to_an_end";
    in_every_version(test, |stopped, _| {
        let step = rows(&stopped.truth, "steps").iter().map(|row| number(&row[0]));
        let objects: Vec<u64> = rows(&stopped.truth, "classes").iter().map(|row| number(&row[0])).collect();
        let arenas = stopped.arenas();
        for (seed, often) in [(1, 10), (2, 100), (3, 1000), (4, 6000)] {
            let memory = Torn(&stopped.memory, Noise(seed), often);
            let Some(python) = Python::open(&memory, stopped.version(), Addr::new(stopped.runtime())) else {
                continue;
            };
            ask_everything(&python, &step.clone().collect::<Vec<_>>());
            ask_everything(&python, &objects[..objects.len().min(2000)]);
            let _ = (python.roots(), python.small_blocks(&arenas));
        }
    });
}

/// The object that a block which begins here has in it.
fn object_at(memory: &Memory, python: &Python<Memory>, start: u64, size: u64) -> Option<PythonObject> {
    let mut bytes = [0; 48];
    let filled = memory.read(start, &mut bytes[..(size as usize).min(48)]);
    let words: Vec<u64> =
        bytes[..filled].as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    python.object_in(Block { address: Addr::new(start), size: Bytes::new(size), site: 0 }, &words)
}

/// An object, wherever its block begins.
fn object_of(stopped: &Stopped, python: &Python<Memory>, id: u64) -> Option<PythonObject> {
    let at = |lead: &u64| object_at(&stopped.memory, python, id - lead, 1 << 20);
    [0, 16, 32].iter().filter_map(at).find(|object| object.address.get() == id)
}

/// Its type.
fn class_of(stopped: &Stopped, python: &Python<Memory>, id: u64) -> Option<String> {
    let found = object_of(stopped, python, id);
    found.map(|object| python.class_name(object.class).to_string())
}

/// Address and size of every small block.
fn small_blocks(stopped: &Stopped, python: &Python<Memory>) -> Vec<(u64, u64)> {
    let blocks = python.small_blocks(&stopped.arenas()).into_iter();
    blocks.map(|(address, size)| (address.get(), size.get())).collect()
}

/// The block that an address lies in.
fn block_of(blocks: &[(u64, u64)], address: u64) -> Option<(u64, u64)> {
    let near = blocks[..blocks.partition_point(|block| block.0 <= address)].last()?;
    (address < near.0 + near.1).then_some(*near)
}

#[test]
fn memory_beside_an_object_is_as_long_as_the_object_says() {
    in_every_version("memory_beside_an_object_is_as_long_as_the_object_says", |stopped, python| {
        let blocks = small_blocks(stopped, python);
        for row in rows(&stopped.truth, "parts") {
            let parts = python.parts(address(&row[0]));
            let size: u64 =
                parts.iter().filter_map(|&part| block_of(&blocks, part.get())).map(|block| block.1).sum();
            assert_eq!(size, number(&row[1]), "{:?}: {parts:x?}", stopped.version());
        }
    });
}

/// Words of a small block, each with whether it is a non-owning pointer.
fn words_of(stopped: &Stopped, python: &Python<Memory>, block: (u64, u64)) -> Vec<(u64, bool)> {
    let mut bytes = vec![0; block.1 as usize];
    assert_eq!(stopped.memory.read(block.0, &mut bytes), bytes.len());
    let non_owning = object_at(&stopped.memory, python, block.0, block.1).unwrap().non_owning_words;
    let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    words.enumerate().map(|(at, word)| (word, non_owning >> at & 1 == 1)).collect()
}

#[test]
fn what_points_without_holding_is_non_owning_and_what_holds_is_not() {
    in_every_version("what_points_without_holding_is_non_owning_and_what_holds_is_not", |stopped, python| {
        let blocks = small_blocks(stopped, python);
        for row in rows(&stopped.truth, "weak") {
            let ids = [number(&row[0]), number(&row[1])];
            for (from, to) in [(ids[0], ids[1]), (ids[1], ids[0])] {
                let words = words_of(stopped, python, block_of(&blocks, from).unwrap());
                let pointing: Vec<bool> =
                    words.iter().filter(|word| word.0 == to).map(|word| word.1).collect();
                assert!(pointing.iter().all(|&is_non_owning| is_non_owning), "{:?}", stopped.version());
                assert!(from == ids[1] || !pointing.is_empty(), "a reference knows what it refers to");
            }
        }
        for row in rows(&stopped.truth, "steps") {
            let (from, to) = (number(&row[0]), number(&row[1]));
            let Some(block) = block_of(&blocks, from) else { continue };
            let words = words_of(stopped, python, block);
            assert!(words.iter().filter(|word| word.0 == to).all(|word| !word.1), "{row}");
        }
        for row in rows(&stopped.truth, "ends") {
            let (object, length) = (number(&row[0]), number(&row[1]));
            let block = block_of(&blocks, object).expect("a small one");
            let end = (object + length - block.0).div_ceil(8) as usize;
            let words = words_of(stopped, python, block);
            assert!(words[end..].iter().all(|word| word.1), "{:?}: {row} of {block:?}", stopped.version());
        }
        for row in rows(&stopped.truth, "idle") {
            let object = object_of(stopped, python, number(&row[0])).expect("an object");
            let parts = python.non_owning_parts(object);
            for part in &parts {
                if let Some((start, size)) = block_of(&blocks, part.whole.start.get()) {
                    let (first, end) = (part.whole.start.get(), part.whole.end.get());
                    assert!(first == start && end <= start + size, "{part:x?}");
                }
            }
            let word = |address: u64| {
                let mut bytes = [0; 8];
                assert_eq!(stopped.memory.read(address, &mut bytes), 8);
                u64::from_le_bytes(bytes)
            };
            let addresses = |part: &NonOwningPart| {
                let Span { start, end } = part.non_owning;
                (start.get()..end.get()).step_by(8)
            };
            let mut old = parts.iter().flat_map(addresses).map(word);
            assert!(old.any(|word| word == number(&row[1])), "{:?}: {parts:x?}", stopped.version());
        }
    });
}

/// Code that is compiled into the interpreter is none, and everything else that leads from there to an object is a pointer.
#[test]
fn constants_of_the_interpreter_are_no_pointers() {
    in_every_version("constants_of_the_interpreter_are_no_pointers", |stopped, python| {
        let parts: Vec<Span> = stopped.data().into_iter().flat_map(|range| python.constants(range)).collect();
        let has = |address: u64| parts.iter().any(|part| part.contains(Addr::new(address)));
        for row in rows(&stopped.truth, "frozen") {
            let (code, end) = (number(&row[0]), number(&row[1]));
            assert!(has(code + end) && !has(code + end - 8), "{:?}: {code:x}", stopped.version());
        }
        let blocks: BTreeSet<u64> = small_blocks(stopped, python).into_iter().map(|block| block.0).collect();
        for part in parts {
            let mut bytes = vec![0; part.length().get() as usize / 8 * 8];
            stopped.memory.read(part.start.get(), &mut bytes);
            let mut words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
            assert!(!words.any(|word| blocks.contains(&word)), "{:?}: {part:x?}", stopped.version());
        }
    });
}

#[test]
fn small_blocks_are_those_that_the_allocator_counts_and_have_the_objects_that_the_collector_knows() {
    let name =
        "small_blocks_are_those_that_the_allocator_counts_and_have_the_objects_that_the_collector_knows";
    in_every_version(name, |stopped, python| {
        let blocks = small_blocks(stopped, python);
        let bytes: u64 = blocks.iter().map(|block| block.1).sum();
        assert_eq!(bytes, stopped.allocated(), "{:?}", stopped.version());
        let mut objects = BTreeMap::new();
        for &(start, size) in &blocks {
            if let Some(object) = object_at(&stopped.memory, python, start, size) {
                assert!(object.address.get() < start + size);
                objects.insert(object.address.get(), object);
            }
        }
        let tracked: BTreeSet<u64> =
            rows(&stopped.truth, "classes").iter().map(|row| number(&row[0])).collect();
        for row in rows(&stopped.truth, "classes").iter().chain(rows(&stopped.truth, "kept")) {
            let (id, class) = (number(&row[0]), text(&row[1]));
            let lies_in = |block: &&(u64, u64)| block.0 <= id && id < block.0 + block.1;
            let near = &blocks[..blocks.partition_point(|block| block.0 <= id)];
            let found = match near.last().filter(lies_in) {
                Some(_) => objects.get(&id).copied(),
                // From `malloc`: the block begins at one of three offsets.
                None => [0, 16, 32]
                    .iter()
                    .find_map(|lead| object_at(&stopped.memory, python, id - lead, 1 << 20))
                    .filter(|object| object.address.get() == id),
            };
            let found = found.unwrap_or_else(|| panic!("{:?}: no {class} at {id:x}", stopped.version()));
            assert_eq!(&*python.class_name(found.class), class);
            assert_eq!(found.is_tracked, tracked.contains(&id));
        }
    });
}
