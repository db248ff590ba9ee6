//! Which block points to which, and what points in from outside. One pass over all memory in the order of addresses; what is
//! kept is four bytes for each pointer.

use super::blocks::{BlockId, Blocks};
use super::memory::{ReadMemory, Window};

/// Blocks that are no farther apart are read together.
const NEAR: u64 = 4096;

/// Where a program keeps what it can reach: everything that is looked at besides the blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    /// Memory: data of modules, stacks, thread-local storage.
    pub ranges: Vec<(u64, u64)>,
    /// Memory that holds the state of glibc's allocator, too: it points to chunks, which begin 16 bytes before their blocks, and
    /// so into the last word of the block before.
    pub allocator_data: Vec<(u64, u64)>,
    /// Registers of threads.
    pub registers: Vec<u64>,
}

/// A pointer: the block, and where in the block it points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge(u32);

/// Where in a block a pointer points to, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Place {
    Start = 0,
    /// Eight bytes behind it: behind a length.
    BehindWord = 1,
    /// Three words behind it: behind the header of a string that is copied when it is written to.
    BehindString = 2,
    Inside = 3,
}

impl Edge {
    fn new(block: BlockId, offset: u64) -> Self {
        let place = match offset {
            // No program points into the first word of a block; it keeps a tag in the low bits of a pointer to its start.
            0..8 => Place::Start,
            8 => Place::BehindWord,
            24 => Place::BehindString,
            _ => Place::Inside,
        };
        Self((place as u32) << 30 | block.raw())
    }

    pub(super) fn block(self) -> BlockId {
        BlockId::new((self.0 & ((1 << 30) - 1)) as usize)
    }

    /// The bits of [`Header`] of which the block must have one for this to be as good as a pointer to its start.
    fn excuse(self) -> u8 {
        match self.0 >> 30 {
            0 => Header::ANY,
            1 => Header::COUNTED,
            2 => Header::STRING,
            _ => 0,
        }
    }
}

/// What the first words of a block look like. Programs keep pointers behind such headers, and nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header(u8);

impl Header {
    const ANY: u8 = 1;
    /// A number of elements, as `new[]` puts it before objects with destructors; or a length in bytes.
    const COUNTED: u8 = 2;
    /// Length, capacity and count of references, as strings of the old ABI have them.
    const STRING: u8 = 4;

    fn of(size: u64, words: &[[u8; 8]]) -> Self {
        let word = |at: usize| words.get(at).map(|word| u64::from_le_bytes(*word));
        let mut bits = Self::ANY;
        if let (Some(count), Some(rest)) = (word(0), size.checked_sub(8))
            && count > 0
            && (rest.is_multiple_of(count) || rest == count)
        {
            bits |= Self::COUNTED;
        }
        if let (Some(length), Some(capacity), Some(_)) = (word(0), word(1), word(2))
            && length <= capacity
            && capacity.checked_add(25) == Some(size)
        {
            bits |= Self::STRING;
        }
        Self(bits)
    }
}

/// The heap.
#[derive(Debug)]
pub struct Graph {
    blocks: Blocks,
    /// Edges of block n lie from `first[n]` to `first[n + 1]`.
    first: Vec<u64>,
    edges: Vec<Edge>,
    headers: Vec<Header>,
    roots: Vec<Edge>,
}

impl Graph {
    /// Reads every block and every root once.
    pub fn new(blocks: Blocks, roots: &Roots, memory: &impl ReadMemory) -> Self {
        let mut graph = Self {
            first: Vec::with_capacity(blocks.len() + 1),
            edges: Vec::new(),
            headers: Vec::with_capacity(blocks.len()),
            roots: Vec::new(),
            blocks,
        };
        graph.read_blocks(memory);
        graph.read_roots(roots, memory);
        graph
    }

    /// Its blocks.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// What points in from outside.
    pub(super) fn roots(&self) -> &[Edge] {
        &self.roots
    }

    /// Blocks that a block points to, each as often as it does.
    pub fn targets(&self, block: BlockId) -> impl Iterator<Item = BlockId> {
        self.edges(block).iter().map(|edge| edge.block())
    }

    pub(super) fn edges(&self, block: BlockId) -> &[Edge] {
        let (from, to) = (self.first[block.index()], self.first[block.index() + 1]);
        &self.edges[from as usize..to as usize]
    }

    /// Whether a pointer is to the start of its block, or to where a program that has the block would point.
    #[inline]
    pub(super) fn is_to_start(&self, edge: Edge) -> bool {
        self.headers[edge.block().index()].0 & edge.excuse() != 0
    }

    fn read_blocks(&mut self, memory: &impl ReadMemory) {
        let mut window = Window::new(memory);
        let mut near = 0;
        for id in self.blocks.ids() {
            let (start, end) = self.blocks.range(id);
            if near < end {
                near = end_of_run(&self.blocks, id);
            }
            self.first.push(self.edges.len() as u64);
            let mut header = Header(Header::ANY);
            window.each_piece(start, end, near, |address, words| {
                if address == start {
                    header = Header::of(end - start, words);
                }
                let edges = edges(&self.blocks, words).map(|(_, edge)| edge);
                self.edges.extend(edges.filter(|edge| edge.block() != id));
            });
            self.headers.push(header);
        }
        self.first.push(self.edges.len() as u64);
    }

    fn read_roots(&mut self, roots: &Roots, memory: &impl ReadMemory) {
        let mut window = Window::new(memory);
        let ranges = roots.ranges.iter().map(|range| (range, false));
        let with_chunks = roots.allocator_data.iter().map(|range| (range, true));
        for (&(start, end), has_chunks) in ranges.chain(with_chunks) {
            window.each_piece(start, end, end, |_, words| {
                let is_chunk = |word: u64| has_chunks && self.blocks.is_next_chunk(word);
                let found = edges(&self.blocks, words).filter(|(word, _)| !is_chunk(*word));
                self.roots.extend(found.map(|(_, edge)| edge));
            });
        }
        let in_registers = roots.registers.iter().filter_map(|&word| self.blocks.find(word));
        self.roots.extend(in_registers.map(|(block, offset)| Edge::new(block, offset)));
    }
}

/// The words that point to blocks.
fn edges(blocks: &Blocks, words: &[[u8; 8]]) -> impl Iterator<Item = (u64, Edge)> {
    let next = |at: usize| blocks.find(u64::from_le_bytes(*words.get(at + 1)?));
    words.iter().enumerate().filter_map(move |(at, word)| {
        let word = u64::from_le_bytes(*word);
        let (block, offset) = blocks.find(word)?;
        let is_table = matches!(offset, 8 | 16) && is_followed(next(at), (block, offset));
        Some((word, Edge::new(block, if is_table { 0 } else { offset })))
    })
}

/// Hash tables of Abseil, which TensorFlow is full of, keep one block with a word or two of their own, control bytes and
/// slots; who has a table has a pointer to the control bytes and behind it one to the slots.
fn is_followed(next: Option<(BlockId, u64)>, (block, offset): (BlockId, u64)) -> bool {
    next.is_some_and(|(same, farther)| same == block && farther > offset)
}

/// Where the blocks that lie close behind a block end.
fn end_of_run(blocks: &Blocks, from: BlockId) -> u64 {
    let (start, mut end) = blocks.range(from);
    for number in from.index() + 1..blocks.len() {
        let (next, next_end) = blocks.range(BlockId::new(number));
        if next > end.saturating_add(NEAR) || end - start > 1 << 20 {
            break;
        }
        end = end.max(next_end);
    }
    end
}
