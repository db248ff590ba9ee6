//! Which block points to which, and what points in from outside. One pass over all memory in the order of addresses; what is
//! kept is four bytes for each pointer.

use super::blocks::{Block, BlockId, Blocks};
use super::edge::{Edge, Header};
use super::memory::{ReadMemory, Window};
use super::offsets::Offsets;
use super::roots::{Links, NamedRoot, Payload, RootEdges, RootOrigin, RootRange, Roots};
use super::scan::pointers;

/// Blocks that are no farther apart are read together.
const NEAR: u64 = 4096;

/// The heap.
#[derive(Debug)]
pub struct Graph {
    blocks: Blocks,
    first: Offsets,
    edges: Vec<Edge>,
    headers: Vec<Header>,
    roots: RootEdges,
}

impl Graph {
    /// Reads every block and every root once. Every word counts.
    pub fn new(blocks: Blocks, roots: &Roots, memory: &impl ReadMemory) -> Self {
        Self::with_links(blocks, roots, memory, |_, _, _| Links::default())
    }

    /// The same; `links` is asked once about every block, with its first words (up to all of them, none where it cannot be read).
    pub fn with_links(
        blocks: Blocks,
        roots: &Roots,
        memory: &impl ReadMemory,
        links: impl FnMut(BlockId, Block, &[[u8; 8]]) -> Links,
    ) -> Self {
        let mut graph = Self {
            first: Offsets::with_capacity(blocks.len()),
            edges: Vec::new(),
            headers: vec![Header::default(); blocks.len()],
            roots: RootEdges::default(),
            blocks,
        };
        let sole = Marked::of(roots.named.iter().filter(|root| root.is_sole), &graph.blocks);
        graph.read_blocks(memory, &sole, links);
        graph.read_roots(roots, memory);
        graph
    }

    /// Its blocks.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// What points in from outside.
    pub(super) fn roots(&self) -> &RootEdges {
        &self.roots
    }

    /// Blocks that a block points to, each as often as it does.
    pub fn targets(&self, block: BlockId) -> impl Iterator<Item = BlockId> {
        self.edges(block).iter().map(|edge| edge.block())
    }

    /// Whether Python's collector knows a block.
    pub fn is_tracked(&self, block: BlockId) -> bool {
        self.headers[block.index()].is_tracked()
    }

    /// Whether a block is what a string or a vector keeps its elements in: its header was seen somewhere.
    pub fn payload(&self, block: BlockId) -> Option<Payload> {
        self.headers[block.index()].payload()
    }

    /// How many pointers from block to block there are.
    pub fn pointers(&self) -> usize {
        self.edges.len()
    }

    #[inline]
    pub(super) fn edges(&self, block: BlockId) -> &[Edge] {
        &self.edges[self.first.range(block.index())]
    }

    /// Whether a pointer is to the start of its block, or to where a program that has the block would point.
    #[inline]
    pub(super) fn is_to_start(&self, edge: Edge) -> bool {
        edge.is_plain() || self.headers[edge.block().index()].excuses(edge)
    }

    fn read_blocks(
        &mut self,
        memory: &impl ReadMemory,
        sole: &Marked,
        mut links_of: impl FnMut(BlockId, Block, &[[u8; 8]]) -> Links,
    ) {
        let mut window = Window::new(memory);
        let mut near = 0;
        let Self { blocks, first, edges, headers, .. } = self;
        for id in blocks.ids() {
            let (start, end) = blocks.range(id);
            if near < end {
                near = end_of_run(blocks, id);
            }
            first.push(edges.len() as u64);
            let (mut header, mut links) = (Header::unknown(), Links::default());
            window.each_piece(start, end, near, |address, words| {
                let is_first = address == start;
                if is_first {
                    links = links_of(id, blocks.get(id), words);
                    header = Header::of(end - start, words).with(links);
                }
                pointers(blocks, words, |at, pointer| {
                    let target = pointer.edge.block();
                    if target == id || is_first && links.skips(at) || sole.contains(target) {
                        return;
                    }
                    edges.push(pointer.edge);
                    if let Some(payload) = pointer.payload {
                        headers[pointer.edge.block().index()].merge(Header::is_payload_of(payload));
                    }
                });
            });
            headers[id.index()].merge(header);
        }
        first.push(edges.len() as u64);
    }

    fn read_roots(&mut self, roots: &Roots, memory: &impl ReadMemory) {
        for root in &roots.named {
            self.roots.begin(RootOrigin::Named { id: root.id }, root.rank);
            self.add_root(root.address, 0);
        }
        let mut window = Window::new(memory);
        for range in &roots.ranges {
            self.read_range(range, &mut window, false);
        }
        for range in &roots.allocator_data {
            self.read_range(range, &mut window, true);
        }
        for register in &roots.registers {
            self.roots.begin(RootOrigin::Register { thread: register.thread }, register.rank);
            self.add_root(register.word, 0);
        }
        self.roots.sort();
    }

    fn add_root(&mut self, word: u64, address: u64) {
        if let Some((block, offset)) = self.blocks.find(word) {
            self.roots.add(Edge::new(block, offset), address);
        }
    }

    fn read_range<M: ReadMemory>(&mut self, range: &RootRange, window: &mut Window<'_, M>, has_chunks: bool) {
        let Self { blocks, headers, roots, .. } = self;
        roots.begin(RootOrigin::Word { address: 0, kind: range.kind }, range.rank);
        window.each_piece(range.start, range.end, range.end, |address, words| {
            pointers(blocks, words, |at, pointer| {
                if has_chunks && blocks.is_next_chunk(pointer.word) {
                    return;
                }
                roots.add(pointer.edge, address + 8 * at as u64);
                if let Some(payload) = pointer.payload {
                    headers[pointer.edge.block().index()].merge(Header::is_payload_of(payload));
                }
            });
        });
    }
}

/// Blocks to which no pointer counts but the one of their root.
struct Marked(Vec<u64>);

impl Marked {
    fn of<'a>(roots: impl Iterator<Item = &'a NamedRoot>, blocks: &Blocks) -> Self {
        let mut bits = Vec::new();
        for (block, _) in roots.filter_map(|root| blocks.find(root.address)) {
            bits.resize(blocks.len().div_ceil(64), 0);
            bits[block.index() / 64] |= 1 << (block.index() % 64);
        }
        Self(bits)
    }

    #[inline]
    fn contains(&self, block: BlockId) -> bool {
        self.0.get(block.index() / 64).is_some_and(|bits| bits >> (block.index() % 64) & 1 != 0)
    }
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
