//! How long the heap graph takes, and how much memory, on a heap that is drawn by chance and lies nowhere: memory is computed
//! while it is read, the same in every run. `cargo run --release --example drawn_heap -- BLOCKS [mixed|random|list|tree]` prints one
//! line for each part. Times are those of the processor; bytes per block are those of this process at its peak, less eight for
//! the addresses that the heap itself is drawn from.
//!
//! `mixed` has blocks of many sizes; a quarter of their words are pointers to starts, most of them near, and one of twenty points
//! into a block. The other shapes have blocks of 40 bytes with three pointers.

use std::env;
use std::fs;

use heaplens_analyze::heap::{
    BlockKind, Blocks, Dominators, Graph, LeakKinds, NamedRoot, Node, Paths, RootOrigin, Roots, Summary,
    largest,
};
use heaplens_format::recording::LeakKind;
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{Block, Rank, ReadMemory};

const BASE: u64 = 0x5555_5555_0010;
/// What malloc keeps before a block.
const HEADER: u64 = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Mixed,
    /// Three pointers to anywhere.
    Random,
    /// Forward, back, and to anywhere.
    List,
    /// Two children and the parent.
    Tree,
}

struct Drawn {
    shape: Shape,
    starts: Vec<u64>,
}

fn hash(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

impl Drawn {
    fn new(blocks: u64, shape: Shape) -> Self {
        let mut at = BASE;
        let start = |block| {
            let start = at;
            at = (at + size(shape, block) + HEADER).next_multiple_of(16);
            start
        };
        Self { shape, starts: (0..blocks).map(start).collect() }
    }

    fn count(&self) -> u64 {
        self.starts.len() as u64
    }

    fn any(&self, draw: u64) -> u64 {
        self.starts[(draw % self.count()) as usize]
    }

    fn word(&self, block: u64, offset: u64) -> u64 {
        if self.shape == Shape::Mixed {
            return self.mixed_word(block, hash(self.starts[block as usize] + offset));
        }
        match offset / 8 {
            pointer @ 1..=3 => {
                self.target(block, pointer - 1).map_or(0, |target| self.starts[target as usize])
            }
            4 => 0x3ff0_0000_0000_0000 | block,
            _ => 0,
        }
    }

    fn mixed_word(&self, block: u64, draw: u64) -> u64 {
        let rest = draw / 100;
        match draw % 100 {
            0..17 => self.any(block + rest % 4096),
            17..25 => self.any(rest),
            25..30 => self.any(rest) + (rest >> 40) % size(self.shape, rest % self.count()) / 8 * 8,
            30..55 => 0,
            55..75 => draw & 0xffff,
            75..85 => ((rest & 0xff_ffff) as f64 / 7.0).to_bits(),
            _ => draw,
        }
    }

    fn target(&self, block: u64, pointer: u64) -> Option<u64> {
        let target = match (self.shape, pointer) {
            (Shape::List, 0) => block + 1,
            (Shape::List, 1) => block.checked_sub(1)?,
            (Shape::Tree, 0 | 1) => 2 * block + 1 + pointer,
            (Shape::Tree, _) => block.checked_sub(1)? / 2,
            _ => hash(block * 3 + pointer) % self.count(),
        };
        (target < self.count()).then_some(target)
    }
}

fn size(shape: Shape, block: u64) -> u64 {
    let draw = hash(block + 77);
    let (first, second, rest) = (draw % 100, draw / 100 % 100, draw / 10_000);
    match shape {
        Shape::Mixed if first < 90 => 16 + rest % 24 * 8,
        Shape::Mixed if second < 95 => 256 + rest % 96 * 8,
        Shape::Mixed => 2048 + rest % 1024 * 8,
        _ => 40,
    }
}

impl ReadMemory for Drawn {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        let mut block = self.starts.partition_point(|start| *start <= address).saturating_sub(1);
        for (at, bytes) in (address..).step_by(8).zip(into.chunks_exact_mut(8)) {
            while self.starts.get(block + 1).is_some_and(|next| *next <= at) {
                block += 1;
            }
            bytes.copy_from_slice(&self.word(block as u64, at - self.starts[block]).to_le_bytes());
        }
        into.len() / 8 * 8
    }
}

fn main() {
    let mut words = env::args().skip(1);
    let count: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(1_000_000);
    let shape = match words.next().as_deref() {
        Some("list") => Shape::List,
        Some("tree") => Shape::Tree,
        Some("random") => Shape::Random,
        _ => Shape::Mixed,
    };
    let heap = Drawn::new(count, shape);
    let time = |what: &str, since: f64| {
        println!("{what:<28} {:7.3} s, {:5.1} B/block", busy() - since, peak() as f64 / count as f64 - 8.0);
    };
    read_all(&heap, time);
    let begin = busy();
    let block = |number: u64| Block {
        address: Addr::new(heap.starts[number as usize]),
        size: Bytes::new(size(shape, number)),
        site: (number % 100) as u32,
    };
    let sorted = Blocks::new((0..count).map(block).collect()).expect("few enough");
    time("blocks and their index", begin);
    let begin = busy();
    let root = |id, address| {
        let address = Addr::new(address);
        NamedRoot { rank: Rank::MainModule, id, address, is_sole: false }
    };
    let named = (0..1000).map(|id| root(id, heap.any(hash(u64::from(id)))));
    let named = named.chain([root(1000, BASE)]);
    let graph = Graph::new(sorted, &Roots { named: named.collect(), ..Roots::default() }, &heap);
    time("graph", begin);
    println!("{} pointers", graph.pointers());
    measure(&graph, time);
}

/// What the reading of such memory alone takes.
fn read_all(heap: &Drawn, time: impl Fn(&str, f64)) {
    let begin = busy();
    let mut piece = vec![0; 1 << 20];
    for at in (BASE..*heap.starts.last().expect("there are blocks")).step_by(1 << 20) {
        heap.read(at, &mut piece);
    }
    time("memory computed (no part)", begin);
}

fn measure(graph: &Graph, time: impl Fn(&str, f64)) {
    let begin = busy();
    let kinds = LeakKinds::of(graph);
    time("leak kinds", begin);
    let is_lost = |kind| matches!(kind, LeakKind::DefinitelyLost | LeakKind::IndirectlyLost);
    let reachable = graph.blocks().ids().filter(|block| !is_lost(kinds.get(*block))).count();
    drop(kinds);
    let begin = busy();
    let paths = Paths::of(graph);
    time("paths", begin);
    let with_path = graph.blocks().ids().filter(|block| paths.holder(graph, *block).is_some()).count();
    assert_eq!(reachable, with_path);
    drop(paths);
    let begin = busy();
    let group = |origin| match origin {
        RootOrigin::Named { id } => id,
        _ => 0,
    };
    let dominators = Dominators::of(graph, group).expect("few enough");
    time("dominators", begin);
    let begin = busy();
    let kind = |node| match node {
        Node::Block(block) => BlockKind { class: 0, site: graph.blocks().get(block).site },
        _ => BlockKind::default(),
    };
    let points = largest(&Summary::of(graph, &dominators, kind), 8);
    time("summary and largest", begin);
    println!("{reachable} blocks can be reached; {} points of accumulation", points.len());
}

/// Seconds that this process spent on a processor.
fn busy() -> f64 {
    let times = fs::read_to_string("/proc/self/schedstat").expect("Linux");
    let nanos = times.split(' ').next().and_then(|word| word.parse::<f64>().ok()).expect("Linux reports it");
    nanos / 1e9
}

/// The most memory that this process ever had.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux reports it");
    1024 * line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number")
}
