//! Heaps made by hand for tests: blocks are added one by one, then pointers between them.

use std::cell::Cell;
use std::collections::BTreeMap;

use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{Block, Rank, ReadMemory, RootKind, RootRange, RootRegister, Span};

use super::{BlockId, Blocks, Graph, Links, NamedRoot, Roots};

/// Words at addresses; everything else cannot be read.
#[derive(Default)]
pub(crate) struct Words(pub(super) BTreeMap<u64, u64>);

impl ReadMemory for Words {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        let mut there = 0;
        for (at, bytes) in (address..).step_by(8).zip(into.chunks_exact_mut(8)) {
            let Some(word) = self.0.get(&at) else { break };
            bytes.copy_from_slice(&word.to_le_bytes());
            there += 8;
        }
        there
    }
}

/// Every word is its own address; nothing can be read from `end` on.
pub(crate) struct Numbered {
    end: u64,
    calls: Cell<u32>,
}

impl Numbered {
    pub(crate) fn up_to(end: u64) -> Self {
        Self { end, calls: Cell::new(0) }
    }

    /// How often it was read.
    pub(crate) fn calls(&self) -> u32 {
        self.calls.get()
    }
}

impl ReadMemory for Numbered {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        self.calls.set(self.calls.get() + 1);
        let there = self.end.saturating_sub(address).min(into.len() as u64) as usize;
        for (at, byte) in (address..).zip(&mut into[..there]) {
            *byte = (at & !7).to_le_bytes()[(at & 7) as usize];
        }
        there
    }
}

pub(crate) fn data(start: u64, end: u64) -> RootRange {
    RootRange { span: Span::new(Addr::new(start), Addr::new(end)), kind: RootKind::Data }
}

pub(crate) fn register(word: u64) -> RootRegister {
    RootRegister { thread: 1, word }
}

/// A heap in which the address of a block can be chosen, so that it stays what it is from snapshot to snapshot.
#[derive(Default)]
pub(crate) struct Heap {
    memory: Words,
    blocks: BTreeMap<u64, Block>,
    next_word: BTreeMap<u64, u64>,
    tracked: Vec<u64>,
    pub(crate) roots: Roots,
}

impl Heap {
    /// A block at an address, with the first word 0.
    pub(crate) fn block(&mut self, address: u64, size: u64, site: u32) -> u64 {
        let block = Block { address: Addr::new(address), size: Bytes::new(size), site };
        assert!(self.blocks.insert(address, block).is_none());
        self.memory.0.extend((0..size).step_by(8).map(|offset| (address + offset, 0)));
        self.next_word.insert(address, address + 8);
        address
    }

    /// The next word of `from` points so far into `to`.
    pub(crate) fn point_into(&mut self, from: u64, to: u64, offset: u64) {
        let at = self.next_word.get_mut(&from).expect("a block");
        let end = from + self.blocks[&from].size.get();
        assert!(*at + 8 <= end, "the block is full");
        self.memory.0.insert(*at, to + offset);
        *at += 8;
    }

    pub(crate) fn point(&mut self, from: u64, to: u64) {
        self.point_into(from, to, 0);
    }

    /// A root with a name, which is asked in the order of this rank.
    pub(crate) fn name(&mut self, rank: u8, id: u32, address: u64) {
        let rank = Rank::ALL[usize::from(rank)];
        let address = Addr::new(address);
        self.roots.named.push(NamedRoot { rank, id, address, is_sole: false });
    }

    /// The collector knows the block.
    pub(crate) fn track(&mut self, address: u64) {
        self.tracked.push(address);
    }

    pub(crate) fn graph(&self) -> Graph {
        let blocks = Blocks::new(self.blocks.values().copied().collect()).expect("few");
        Graph::with_links(blocks, &self.roots, &self.memory, |_, block, _| Links {
            is_tracked: self.tracked.contains(&block.address.get()),
            ..Links::default()
        })
    }
}

/// The block at an address.
pub(crate) fn id_at(graph: &Graph, address: u64) -> BlockId {
    let (block, offset) = graph.blocks().find(Addr::new(address)).expect("a block lies there");
    assert_eq!(offset, Bytes::ZERO);
    block
}
