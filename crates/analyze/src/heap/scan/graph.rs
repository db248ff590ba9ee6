//! Which block points to which, and what points in from outside. Memory is read once, in the order of addresses; what is
//! kept is four bytes for each pointer.

use std::collections::HashMap;
use std::ops::Range;

use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{Block, ReadMemory, RootRange, RootRegister, Span};

use super::edge::{Edge, Header};
use super::heuristics::Heuristics;
use super::links::{Links, NonOwningPart, Payload};
use super::offsets::Offsets;
use super::pointer_scanner::PointerScanner;
use super::root_edges::RootEdges;
use super::roots::{RootOrigin, Roots};
use crate::heap::memory::{BlockId, BlockReader, BlockSet, Blocks, ReadWindow};

/// Of a root that does not lie in memory.
const NOWHERE: Addr = Addr::new(0);
/// Sizes of blocks of Python's allocator are multiples of this.
pub const BLOCK_STEP: Bytes = Bytes::new(16);

/// The heap.
#[derive(Debug)]
pub struct Graph {
    blocks: Blocks,
    first: Offsets,
    edges: Vec<Edge>,
    headers: Vec<Header>,
    roots: RootEdges,
    /// References that an object has to itself, which are no edges.
    own_references: HashMap<BlockId, u32>,
    /// Blocks to which no pointer counts but the one of their root.
    sole: BlockSet,
    /// Which interior pointers are valid ones.
    heuristics: Heuristics,
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
        Self::with_heuristics(blocks, roots, memory, Heuristics::ALL, links)
    }

    /// The same with some heuristics for interior pointers.
    pub fn with_heuristics(
        blocks: Blocks,
        roots: &Roots,
        memory: &impl ReadMemory,
        heuristics: Heuristics,
        links: impl FnMut(BlockId, Block, &[[u8; 8]]) -> Links,
    ) -> Self {
        let mut graph = Self {
            first: Offsets::with_capacity(blocks.len()),
            edges: Vec::new(),
            headers: vec![Header::unknown(); blocks.len()],
            roots: RootEdges::default(),
            own_references: HashMap::new(),
            sole: BlockSet::default(),
            heuristics,
            blocks,
        };
        let sole = roots.named.iter().filter(|root| root.is_sole).map(|root| root.address);
        graph.sole = BlockSet::of(sole, &graph.blocks);
        graph.read_blocks(memory, links);
        graph.read_roots(roots, memory);
        graph
    }

    /// Takes back the pointers in parts of blocks that own nothing. Whose parts they are is known only when all blocks were
    /// seen. What says so may only look like an object: a part counts where a block begins with the memory it is of, and where
    /// no other part says the same.
    pub fn forget(&mut self, parts: &[NonOwningPart], memory: &impl ReadMemory) {
        let (mut window, mut scanner) = (ReadWindow::new(memory), PointerScanner::default());
        let mut gone: Vec<Range<usize>> = Vec::new();
        let parts = apart(parts.iter().filter_map(|part| self.known_part(part)).collect());
        for parts in parts.chunk_by(|(block, _), (next, _)| block == next) {
            self.find_non_owning(parts, &mut window, &mut scanner, &mut gone);
        }
        self.remove(&gone);
    }

    /// Adds the edges that parts of one block gave, which come in order.
    fn find_non_owning<M: ReadMemory>(
        &self,
        parts: &[(BlockId, Span)],
        window: &mut ReadWindow<'_, M>,
        scanner: &mut PointerScanner,
        gone: &mut Vec<Range<usize>>,
    ) {
        let Some(&(block, first_part)) = parts.first() else { return };
        let (mut left, mut pointers) = (parts.iter().map(|part| part.1).peekable(), Vec::new());
        let rest = Span::new(first_part.start, self.blocks.span(block).end);
        window.each_piece(rest, |address, words| {
            scanner.look_up(&self.blocks, words);
            scanner.each(&self.blocks, words, |at, pointer| {
                let (target, here) = (pointer.edge.block(), address + word(at));
                if target == block || self.sole.contains(target) {
                    return;
                }
                while left.next_if(|part| part.end <= here).is_some() {}
                pointers.push((pointer.edge, left.peek().is_some_and(|part| part.start <= here)));
            });
        });
        self.add_matching(block, &pointers, gone);
    }

    /// Adds the edges of a block that are among these pointers, which come in the order of their words up to the end of the block, with
    /// whether each is to go. Edges are in the same order, without those of words that never counted: so they are matched from the end. (Where
    /// such a word leads to the same block as one that is to go, that one stays.)
    fn add_matching(&self, block: BlockId, pointers: &[(Edge, bool)], gone: &mut Vec<Range<usize>>) {
        let before = gone.len();
        let mut edges = self.range(block).zip(self.edges(block)).rev().peekable();
        for (pointer, is_to_go) in pointers.iter().rev() {
            if let Some((at, _)) = edges.next_if(|(_, edge)| *edge == pointer)
                && *is_to_go
            {
                gone.push(at..at + 1);
            }
        }
        gone[before..].reverse();
    }

    /// The block that begins with the memory a part is of, and the part. Python's blocks come in steps of 16 bytes: where the part ends
    /// the memory, what follows in its block is old as well.
    fn known_part(&self, part: &NonOwningPart) -> Option<(BlockId, Span)> {
        let NonOwningPart { whole, non_owning } = *part;
        let (block, offset) = self.blocks.find(whole.start)?;
        let block_end = self.blocks.span(block).end;
        let is_last = non_owning.end == whole.end && block_end < whole.end + BLOCK_STEP;
        let end = if is_last { block_end } else { non_owning.end };
        let fits = offset == Bytes::ZERO && whole.end <= block_end;
        fits.then(|| (block, Span::new(non_owning.start, end)))
    }

    /// Removes edges; each of these ranges lies in one block's, and they come in order, none into another.
    fn remove(&mut self, gone: &[Range<usize>]) {
        if gone.is_empty() {
            return;
        }
        let mut first = Offsets::with_capacity(self.blocks.len());
        let (mut before, mut left) = (0, gone.iter().peekable());
        for block in 0..=self.blocks.len() {
            let start = self.first.start(block);
            while let Some(range) = left.next_if(|range| range.end <= start) {
                before += range.len();
            }
            first.push((start - before) as u64);
        }
        let (mut kept, mut from) = (0, 0);
        for range in gone.iter().chain([&(self.edges.len()..self.edges.len())]) {
            self.edges.copy_within(from..range.start, kept);
            kept += range.start - from;
            from = range.end;
        }
        self.edges.truncate(kept);
        self.first = first;
    }

    /// Which interior pointers are valid ones.
    pub(crate) fn heuristics(&self) -> Heuristics {
        self.heuristics
    }

    /// Its blocks.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// What points in from outside.
    pub(crate) fn roots(&self) -> &RootEdges {
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

    /// Where the Python object in a block begins, to which references point.
    pub(crate) fn object_address(&self, block: BlockId) -> Addr {
        let before = Bytes::new(self.headers[block.index()].object_at().into());
        self.blocks.get(block).address + before
    }

    /// Whether a pointer is one to the Python object in its block, and not to another part of the block.
    #[inline]
    pub(crate) fn is_reference(&self, edge: Edge) -> bool {
        edge.offset() == Some(self.headers[edge.block().index()].object_at())
    }

    /// References of an object that Python's collector knows to itself.
    pub(crate) fn own_references(&self, block: BlockId) -> u32 {
        self.own_references.get(&block).copied().unwrap_or(0)
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
    pub(crate) fn edges(&self, block: BlockId) -> &[Edge] {
        &self.edges[self.first.range(block.index())]
    }

    /// Where the edges of a block lie, and those that lie there.
    #[inline]
    pub(crate) fn range(&self, block: BlockId) -> Range<usize> {
        self.first.range(block.index())
    }

    #[inline]
    pub(crate) fn edges_of(&self, range: &Range<usize>) -> &[Edge] {
        &self.edges[range.clone()]
    }

    /// Whether a pointer is to the start of its block, or a valid interior pointer.
    #[inline]
    pub(crate) fn is_to_start(&self, edge: Edge) -> bool {
        edge.is_plain() || self.headers[edge.block().index()].allows(edge)
    }

    fn read_blocks(
        &mut self,
        memory: &impl ReadMemory,
        mut links_of: impl FnMut(BlockId, Block, &[[u8; 8]]) -> Links,
    ) {
        let (mut reader, mut scanner) = (BlockReader::new(memory), PointerScanner::default());
        let Self { blocks, first, edges, headers, sole, own_references, heuristics, .. } = self;
        let mut to_ends: Vec<usize> = Vec::new();
        while reader.next(blocks) {
            let words = reader.words();
            scanner.look_up(blocks, words);
            for piece in reader.pieces() {
                let (id, own) = (piece.block, &words[piece.words()]);
                first.push_up_to(id.index(), edges.len() as u64);
                let mut links = Links::default();
                if piece.is_first {
                    let block = blocks.get(id);
                    links = links_of(id, block, own);
                    headers[id.index()].merge(Header::of(block.size, own, *heuristics).with(links));
                }
                scanner.each_in(blocks, words, piece.words(), |at, pointer| {
                    let target = pointer.edge.block();
                    if links.skips(at) || sole.contains(target) {
                        return;
                    }
                    if target == id {
                        if links.is_tracked && pointer.edge.offset() == Some(links.object_at) {
                            *own_references.entry(id).or_default() += 1;
                        }
                        return;
                    }
                    if blocks.is_end(target, pointer.edge.offset()) {
                        to_ends.push(edges.len());
                    }
                    edges.push(pointer.edge);
                    if let Some(payload) = pointer.payload {
                        headers[target.index()].merge(Header::is_payload_of(payload));
                    }
                });
            }
        }
        first.push_up_to(blocks.len(), edges.len() as u64);
        // Whether an end is that of an array of no elements its own words say, which may be read last.
        to_ends.retain(|&at| !self.is_to_start(self.edges[at]));
        let gone: Vec<Range<usize>> = to_ends.into_iter().map(|at| at..at + 1).collect();
        self.remove(&gone);
    }

    fn read_roots(&mut self, roots: &Roots, memory: &impl ReadMemory) {
        for root in &roots.named {
            self.roots.begin(RootOrigin::Named { id: root.id }, root.rank);
            self.add_root(root.address, NOWHERE);
        }
        for range in &roots.mappings {
            let start = range.span.start;
            self.roots.begin(RootOrigin::Word { address: start, kind: range.kind }, range.kind.rank());
            self.add_root(start, start);
        }
        let (mut window, mut scanner) = (ReadWindow::new(memory), PointerScanner::default());
        for range in &roots.ranges {
            self.read_range(range, &mut window, &mut scanner, |_, address, _| !roots.is_constant(address));
        }
        for range in &roots.allocator_data {
            self.read_range(range, &mut window, &mut scanner, |blocks, _, word| !blocks.is_next_chunk(word));
        }
        for register in &roots.registers {
            self.roots.begin(RootOrigin::Register { thread: register.thread }, RootRegister::RANK);
            self.add_root(Addr::new(register.word), NOWHERE);
        }
        self.roots.sort();
    }

    fn add_root(&mut self, word: Addr, address: Addr) {
        if let Some((block, offset)) = self.blocks.find_pointer(word) {
            let edge = Edge::new(block, offset);
            let header = self.headers[block.index()];
            if !header.is_link(edge) && (header.allows(edge) || !self.blocks.is_end(block, edge.offset())) {
                self.roots.add(edge, address);
            }
        }
    }

    /// `is_pointer` is asked of words that lead to a block, by where they lie and what they are.
    fn read_range<M: ReadMemory>(
        &mut self,
        range: &RootRange,
        window: &mut ReadWindow<'_, M>,
        scanner: &mut PointerScanner,
        is_pointer: impl Fn(&Blocks, Addr, Addr) -> bool,
    ) {
        let Self { blocks, headers, roots, .. } = self;
        roots.begin(RootOrigin::Word { address: NOWHERE, kind: range.kind }, range.kind.rank());
        window.each_piece(range.span, |address, words| {
            scanner.look_up(blocks, words);
            scanner.each(blocks, words, |at, pointer| {
                let at = address + word(at);
                let (block, edge) = (pointer.edge.block(), pointer.edge);
                let header = headers[block.index()];
                let is_other_end = blocks.is_end(block, edge.offset()) && !header.allows(edge);
                if header.is_link(edge) || is_other_end || !is_pointer(blocks, at, pointer.word) {
                    return;
                }
                roots.add(pointer.edge, at);
                if let Some(payload) = pointer.payload {
                    headers[pointer.edge.block().index()].merge(Header::is_payload_of(payload));
                }
            });
        });
    }
}

/// How far it is to a word.
#[inline]
fn word(number: usize) -> Bytes {
    Bytes::new(8 * number as u64)
}

/// Those parts, in order, that meet no other.
fn apart(mut parts: Vec<(BlockId, Span)>) -> Vec<(BlockId, Span)> {
    parts.sort_unstable_by_key(|&(_, part)| part);
    let mut known_to = Addr::default();
    let mut alone = Vec::with_capacity(parts.len());
    for (at, &(block, part)) in parts.iter().enumerate() {
        let is_before_next = parts.get(at + 1).is_none_or(|&(_, next)| part.end <= next.start);
        if known_to <= part.start && is_before_next {
            alone.push((block, part));
        }
        known_to = known_to.max(part.end);
    }
    alone
}
