//! Names of what is in a heap against a real program, which says itself of what class each block is, what lies in which
//! variable and what holds what.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};

use heaplens_analyze::heap::{
    BlockKind, Blocks, CppClasses, Dominators, Globals, Graph, Node, Path, Paths, Payload, RootOrigin, Roots,
    Summary, largest,
};
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{Block, Mapping, ReadMemory, RootKind, RootRange, Span};
use tempfile::TempDir;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/holders.cpp");

/// A program that waits, and what it said.
struct Program {
    child: Child,
    memory: Memory,
    maps: Vec<Map>,
    truth: Vec<(String, u64, String)>,
    _folder: TempDir,
}

struct Memory(File);

impl ReadMemory for Memory {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        self.0.read_at(into, address).unwrap_or(0)
    }
}

struct Map {
    start: u64,
    end: u64,
    is_readable: bool,
    is_writable: bool,
    offset: u64,
    path: String,
}

impl Map {
    fn parse(line: &str) -> Self {
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap_or_default();
        let (range, rights, offset) = (word(), word(), word());
        let _device_and_inode = (word(), word());
        let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let (start, end) = range.split_once('-').unwrap();
        Self {
            start: hex(start),
            end: hex(end),
            is_readable: rights.starts_with('r'),
            is_writable: rights[1..].starts_with('w'),
            offset: hex(offset),
            path: word().to_owned(),
        }
    }

    fn is_file(&self) -> bool {
        self.path.starts_with('/')
    }
}

fn span(start: u64, end: u64) -> Span {
    Span::new(Addr::new(start), Addr::new(end))
}

impl Program {
    fn start(flags: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("holders");
        let mut compiler = Command::new("g++");
        compiler.args(["-std=c++17", "-O1"]).args(flags).arg("-o").arg(&path).arg(SOURCE);
        assert!(compiler.status().unwrap().success());
        let mut child = Command::new(&path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let truth = lines.take_while(|line| line != "done").map(|line| parse(&line)).collect();
        let memory = Memory(File::open(format!("/proc/{}/mem", child.id())).unwrap());
        let maps = fs::read_to_string(format!("/proc/{}/maps", child.id())).unwrap();
        Self { child, memory, maps: maps.lines().map(Map::parse).collect(), truth, _folder: folder }
    }

    fn said(&self, word: &str) -> impl Iterator<Item = (u64, &str)> {
        self.truth.iter().filter(move |line| line.0 == word).map(|line| (line.1, line.2.as_str()))
    }

    fn graph(&self) -> Graph {
        let block = |(address, size): (u64, &str)| Block {
            address: Addr::new(address),
            size: Bytes::new(size.parse().unwrap()),
            site: 1,
        };
        let blocks = Blocks::new(self.said("block").map(block).collect()).unwrap();
        Graph::new(blocks, &Roots { ranges: self.data(), ..Roots::default() }, &self.memory)
    }

    /// Data of the program itself, not of the list of blocks in it.
    fn data(&self) -> Vec<RootRange> {
        let table = self.globals().find_named("table");
        let writable = self.maps.iter().filter(|map| map.is_writable && map.is_readable);
        let of_files = writable.filter(|map| map.path.ends_with("/holders") || map.path.is_empty());
        let cut = of_files.flat_map(|map| {
            let (from, to) = (table.0.clamp(map.start, map.end), table.1.clamp(map.start, map.end));
            [(map.start, from), (to, map.end)]
        });
        cut.map(|(start, end)| RootRange { span: span(start, end), kind: RootKind::Data }).collect()
    }

    fn globals(&self) -> Named<'_> {
        let files = self.maps.iter().filter(|map| map.is_file()).map(|map| Mapping {
            span: span(map.start, map.end),
            offset: map.offset,
            name: map.path.clone(),
            is_writable: map.is_writable,
        });
        Named { globals: Globals::new(&files.collect::<Vec<_>>()), program: self }
    }

    fn classes(&self) -> CppClasses<'_, Memory> {
        let readable = self.maps.iter().filter(|map| map.is_file() && map.is_readable);
        CppClasses::new(&self.memory, readable.map(|map| span(map.start, map.end)).collect())
    }

    fn first_word(&self, address: u64) -> u64 {
        let mut word = [0; 8];
        assert_eq!(self.memory.read(address, &mut word), 8);
        u64::from_le_bytes(word)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

struct Named<'a> {
    globals: Globals,
    program: &'a Program,
}

impl Named<'_> {
    fn name(&mut self, address: u64) -> Option<String> {
        self.globals.find(Addr::new(address)).map(|global| global.to_string())
    }

    /// Where a variable lies, found by its name in every word of the program's data.
    fn find_named(mut self, name: &str) -> (u64, u64) {
        let ours = self.program.maps.iter().filter(|map| map.is_writable && !map.path.starts_with('['));
        let words = ours.flat_map(|map| (map.start..map.end).step_by(4096));
        let found: Vec<_> = words
            .filter_map(|address| self.globals.find(Addr::new(address)))
            .filter(|global| global.name == name)
            .map(|global| global.start.get())
            .collect();
        let start = *found.first().expect("it is large enough to cover the start of a page");
        (start, start + 100_000 * 16)
    }
}

fn parse(line: &str) -> (String, u64, String) {
    let mut words = line.splitn(3, ' ');
    let mut word = || words.next().unwrap().to_owned();
    let (what, address, rest) = (word(), word(), word());
    (what, u64::from_str_radix(address.trim_start_matches("0x"), 16).unwrap(), rest)
}

fn assert_names_are_true(program: &Program) {
    let mut classes = program.classes();
    for (address, expected) in program.said("class") {
        let class =
            classes.of(program.first_word(address)).unwrap_or_else(|| panic!("{expected} has a class"));
        assert_eq!(classes.name(class), expected);
    }
    for (address, _) in program.said("plain") {
        assert_eq!(classes.of(program.first_word(address)), None);
    }
    let graph = program.graph();
    let payloads: HashMap<&str, Payload> = [("vector", Payload::Vector), ("string", Payload::String)].into();
    for (address, expected) in program.said("payload") {
        let (block, _) = graph.blocks().find(Addr::new(address)).unwrap();
        assert_eq!(graph.payload(block), Some(payloads[expected]));
    }
    for (address, _) in program.said("plain") {
        assert_eq!(graph.payload(graph.blocks().find(Addr::new(address)).unwrap().0), None);
    }
    let mut globals = program.globals();
    for (address, expected) in program.said("global") {
        assert_eq!(globals.name(address).as_deref(), Some(expected));
    }
}

fn assert_holders_are_true(program: &Program) {
    let (graph, mut globals) = (program.graph(), program.globals());
    let paths = Paths::of(&graph);
    for (address, expected) in program.said("held") {
        let (block, _) = graph.blocks().find(Addr::new(address)).unwrap();
        let Path { root: origin, first: path, .. } = paths.path(&graph, block).expect("something holds it");
        let RootOrigin::Word { address, .. } = origin else { panic!("{origin:?} is no variable") };
        let name = globals.globals.find(address).expect("the word lies in a variable");
        assert!(expected == name.name || expected == name.to_string(), "{expected} and not {name}");
        assert_eq!(path.last(), Some(&block));
    }
    let mut groups: Vec<String> = Vec::new();
    let group = |origin| {
        let RootOrigin::Word { address, .. } = origin else { panic!("{origin:?} is no variable") };
        let name = globals.globals.find(address).map_or_else(String::new, |global| global.name);
        let known = groups.iter().position(|other| *other == name);
        known.unwrap_or_else(|| {
            groups.push(name);
            groups.len() - 1
        }) as u32
    };
    let dominators = Dominators::of(&graph, group).unwrap();
    let of = |name: &str| {
        let group =
            groups.iter().position(|group| group == name).unwrap_or_else(|| panic!("{name} is a root"));
        dominators.retained_by_group(group as u32)
    };
    // A thousand nodes and as many texts; three vectors.
    assert_eq!((of("g_cache").blocks, of("g_cache").bytes.get()), (2000, 1000 * (72 + 101)));
    assert_eq!((of("g_table").blocks, of("g_table").bytes.get()), (3, 3 * 400));
    assert_eq!(of("g_buffer").bytes.get(), 40_000);
    let summary = Summary::of(&graph, &dominators, |_| BlockKind { class: 0, site: 1 });
    let points = largest(&summary, 2);
    let cache = groups.iter().position(|group| group == "g_cache").unwrap() as u32;
    assert_eq!(points[0].node, Node::Group(cache), "{points:?}");
}

#[test]
fn classes_payloads_and_variables_are_those_that_the_program_tells_of() {
    assert_names_are_true(&Program::start(&[]));
}

#[test]
fn so_they_are_in_a_program_that_is_not_moved() {
    assert_names_are_true(&Program::start(&["-no-pie"]));
}

#[test]
fn classes_need_no_symbols() {
    let program = Program::start(&["-s", "-static-libstdc++"]);
    let mut classes = program.classes();
    for (address, expected) in program.said("class") {
        let class =
            classes.of(program.first_word(address)).unwrap_or_else(|| panic!("{expected} has a class"));
        assert_eq!(classes.name(class), expected);
    }
}

#[test]
fn a_variable_holds_what_the_program_put_into_it() {
    assert_holders_are_true(&Program::start(&[]));
}
