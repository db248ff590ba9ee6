//! How long the heap graph takes, and how much memory, on a heap that is drawn by chance and lies nowhere: memory is computed
//! while it is read. Times are those of the processor. `cargo run --release --example drawn_heap -- BLOCKS [random|list|tree]` prints one line for each part;
//! bytes per block are those of this process at its peak.

use std::env;
use std::fs;

use heaplens_analyze::heap::{
    Block, Blocks, Dominators, Graph, Kinds, NamedRoot, Paths, ReadMemory, RootOrigin, Roots,
};
use heaplens_format::recording::LeakKind;
use heaplens_format::{Addr, Bytes};

const BASE: u64 = 0x5555_5555_0010;
/// From block to block: malloc's smallest but one.
const STRIDE: u64 = 48;
const SIZE: u64 = 40;

#[derive(Clone, Copy)]
enum Shape {
    /// Three pointers to anywhere.
    Random,
    /// Forward, back, and to anywhere near.
    List,
    /// Two children and the parent.
    Tree,
}

struct Drawn {
    blocks: u64,
    shape: Shape,
}

fn hash(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

impl Drawn {
    fn target(&self, block: u64, pointer: u64) -> Option<u64> {
        let target = match (self.shape, pointer) {
            (Shape::Random, _) | (Shape::List, 2) => hash(block * 3 + pointer) % self.blocks,
            (Shape::List, 0) => block + 1,
            (Shape::List, _) => block.checked_sub(1)?,
            (Shape::Tree, 0 | 1) => 2 * block + 1 + pointer,
            (Shape::Tree, _) => block.checked_sub(1)? / 2,
        };
        (target < self.blocks).then_some(target)
    }

    fn word(&self, address: u64) -> u64 {
        let offset = address - BASE;
        let (block, word) = (offset / STRIDE, offset % STRIDE / 8);
        match word {
            1..=3 => self.target(block, word - 1).map_or(0, |target| BASE + target * STRIDE),
            4 => 0x3ff0_0000_0000_0000 | block,
            _ => 0,
        }
    }
}

impl ReadMemory for Drawn {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        for (at, bytes) in (address..).step_by(8).zip(into.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&self.word(at).to_le_bytes());
        }
        into.len() / 8 * 8
    }
}

fn main() {
    let mut words = env::args().skip(1);
    let blocks: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(1_000_000);
    let shape = match words.next().as_deref() {
        Some("list") => Shape::List,
        Some("tree") => Shape::Tree,
        _ => Shape::Random,
    };
    let heap = Drawn { blocks, shape };
    let time = |what: &str, since: f64| {
        println!("{what:<28} {:7.3} s, {:5.1} B/block", busy() - since, peak() as f64 / blocks as f64);
    };
    let begin = busy();
    let mut piece = vec![0; 1 << 20];
    for at in (0..blocks * STRIDE).step_by(1 << 20) {
        heap.read(BASE + at, &mut piece);
    }
    time("memory computed (no part)", begin);
    let begin = busy();
    let block = |number: u64| Block {
        address: Addr::new(BASE + number * STRIDE),
        size: Bytes::new(SIZE),
        site: (number % 100) as u32,
    };
    let sorted = Blocks::new((0..blocks).map(block).collect()).expect("few enough");
    time("blocks and their index", begin);
    let begin = busy();
    let named = (0..64).map(|id| NamedRoot {
        rank: 0,
        id,
        address: BASE + hash(u64::from(id)) % blocks * STRIDE,
        is_sole: false,
    });
    let named = named.chain([NamedRoot { rank: 0, id: 64, address: BASE, is_sole: false }]);
    let graph = Graph::new(sorted, &Roots { named: named.collect(), ..Roots::default() }, &heap);
    time("graph", begin);
    measure(&graph, time);
}

fn measure(graph: &Graph, time: impl Fn(&str, f64)) {
    let begin = busy();
    let kinds = Kinds::of(graph);
    time("leak kinds", begin);
    let reachable =
        graph.blocks().ids().filter(|block| kinds.get(*block) == LeakKind::StillReachable).count();
    drop(kinds);
    let begin = busy();
    let paths = Paths::of(graph);
    time("paths", begin);
    let with_path = graph.blocks().ids().filter(|block| paths.holder(graph, *block).is_some()).count();
    assert_eq!(reachable, with_path);
    let begin = busy();
    let group = |origin| match origin {
        RootOrigin::Named { id } => id,
        _ => 0,
    };
    let dominators = Dominators::of(graph, group).expect("few enough");
    time("dominators", begin);
    println!("{reachable} blocks can be reached, {} B retained", dominators.everything().bytes.get());
}

/// Seconds that this process spent on a processor.
fn busy() -> f64 {
    let times = fs::read_to_string("/proc/self/schedstat").expect("Linux");
    let nanos = times.split(' ').next().and_then(|word| word.parse::<f64>().ok()).expect("Linux tells");
    nanos / 1e9
}

/// The most memory that this process ever had.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells");
    1024 * line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number")
}
