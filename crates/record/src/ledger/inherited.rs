//! What a forked process inherited: blocks of its parent, which its own tables do not list. They are read from the memory of the process
//! itself, and have no site:
//!
//! ```text
//!   heaps of glibc's         chunk by chunk                             ─▶ blocks
//!   large blocks of its own  by the header of the chunk                 ─▶ blocks
//!   Python's small objects   by the headers of pools                    ─▶ arenas
//!   anything else            what lies beside the blocks of the process ─▶ roots
//! ```
//!
//! Blocks that the parent had freed into a thread's cache look like blocks in use. That makes more reachable, never less.

use heaplens_cpython::pools::HEADER;
use heaplens_format::memory::{Allocator, Layer};
use heaplens_format::{Addr, Bytes, Pid};
use heaplens_snapshot::{Block, Span};

use super::pools::Layout;
use crate::address_space::{Area, Claim, Space, heaps};
use crate::os::memory;

/// What was inherited, beside what [`Space::reachable`] has.
#[derive(Debug, Default)]
pub(super) struct Inherited {
    /// Blocks of the parent, in no order.
    pub(super) blocks: Vec<Block>,
    /// Memory in which blocks cannot be told apart.
    pub(super) roots: Vec<Span>,
}

impl Inherited {
    /// Of a forked process whose own blocks are in the space already, and are listed in `own`, in the order of addresses.
    pub(super) fn read(process: Pid, areas: &[Area], space: &mut Space, own: &[Block]) -> Self {
        let mut found = Self::default();
        for heap in first_heap(areas).into_iter().chain(heaps::find(process, areas)) {
            match heaps::blocks(process, heap) {
                Some(blocks) => found.add_heap(&blocks, space, own),
                None => found.add_unknown(heap, space, own),
            }
        }
        for span in heaps::mapped_blocks(process, &space.unclaimed()) {
            if space.is_inherited(span.start) {
                found.add(Span::new(span.start + Bytes::new(16), span.end), space);
            }
        }
        // Of another allocator: what lies on the same pages as blocks of the process.
        for span in space.inherited(|claim, is_live| is_live && matches!(claim, Claim::Nobody)) {
            found.roots.extend(beside(span, own));
        }
        found
    }

    fn add_heap(&mut self, blocks: &[Span], space: &mut Space, own: &[Block]) {
        for &block in blocks {
            let is_own = own.binary_search_by_key(&block.start, |own| own.address).is_ok();
            if !is_own && space.is_inherited(block.start) {
                self.add(block, space);
            }
        }
    }

    fn add(&mut self, block: Span, space: &mut Space) {
        let Span { start: address, .. } = block;
        space.add_block(address, block.length(), Layer::Native);
        self.blocks.push(Block { address, size: block.length(), site: Block::NO_SITE });
    }

    fn add_unknown(&mut self, heap: Span, space: &Space, own: &[Block]) {
        let is_inside = |span: &Span| heap.start < span.end && span.start < heap.end;
        let pages = space.inherited(|claim, _| claim == Claim::Heap).into_iter().filter(is_inside);
        pages.for_each(|span| self.roots.extend(beside(span, own)));
    }
}

/// The kernel's `[heap]`: what a process adds to it after its `fork` is an area of its own.
fn first_heap(areas: &[Area]) -> Vec<Span> {
    let mut heaps: Vec<Span> = Vec::new();
    for Area { span, .. } in areas.iter().filter(|area| area.name == "[heap]") {
        match heaps.last_mut() {
            Some(last) if last.end == span.start => last.end = span.end,
            _ => heaps.push(*span),
        }
    }
    heaps
}

/// Claims the pools of Python's small objects among pages that nobody claims, each run of them as an arena. Not only among inherited pages: of an arena
/// that was inherited, pools come into use later. Of a pool that is not full, the last pages may never have been touched.
pub(super) fn claim_pools(process: Pid, space: &mut Space, layout: Layout) {
    let pool = layout.sizes.pool;
    let mut starts: Vec<Addr> = Vec::new();
    for run in space.unknown() {
        let first = run.start.get().next_multiple_of(pool);
        let inside = (first..run.end.get()).step_by(pool as usize).map(Addr::new);
        starts.extend(inside.filter(|&at| space.is_unclaimed(Span::of_length(at, Bytes::new(pool)))));
    }
    let mut headers = vec![0; starts.len() * HEADER];
    memory::read_scattered(process, &starts, HEADER, &mut headers);
    let mut arenas: Vec<Span> = Vec::new();
    for (&start, header) in starts.iter().zip(headers.as_chunks::<HEADER>().0) {
        if layout.sizes.header(header).is_none() {
            continue;
        }
        let end = start + Bytes::new(pool);
        match arenas.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => arenas.push(Span::new(start, end)),
        }
    }
    for arena in arenas {
        space.claim(arena, Claim::Pool(Allocator::Pymalloc));
        space.add_arena(arena);
    }
}

/// The parts of a span that none of these blocks has, which come in the order of addresses.
fn beside(span: Span, own: &[Block]) -> Vec<Span> {
    let first = own.partition_point(|block| block.address + block.size <= span.start);
    let (mut parts, mut at) = (Vec::new(), span.start);
    for block in own[first..].iter().take_while(|block| block.address < span.end) {
        parts.push(Span::new(at, block.address));
        at = block.address + block.size;
    }
    parts.push(Span::new(at, span.end));
    parts.retain(|part| part.length() > Bytes::ZERO);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, end: u64) -> Span {
        Span::new(Addr::new(start), Addr::new(end))
    }

    #[test]
    fn the_heap_of_a_forked_process_is_one_though_the_kernel_lists_two() {
        let area =
            |start, end, name: &str| Area { span: span(start, end), name: name.into(), ..Area::default() };
        let areas =
            [area(0x1000, 0x3000, "[heap]"), area(0x3000, 0x9000, "[heap]"), area(0x9000, 0xa000, "")];
        assert_eq!(first_heap(&areas), [span(0x1000, 0x9000)]);
        assert_eq!(first_heap(&areas[2..]), []);
    }

    #[test]
    fn what_lies_beside_blocks_is_left() {
        let block = |start, size| Block { address: Addr::new(start), size: Bytes::new(size), site: 1 };
        let own = [block(0x100, 0x20), block(0x1000, 0x80), block(0x1100, 0x100), block(0x1ff0, 0x40)];
        let found = beside(span(0x1000, 0x2000), &own);
        assert_eq!(found, [span(0x1080, 0x1100), span(0x1200, 0x1ff0)]);
        assert_eq!(beside(span(0x5000, 0x6000), &own), [span(0x5000, 0x6000)]);
        assert_eq!(beside(span(0x1110, 0x1180), &own), []);
    }
}
