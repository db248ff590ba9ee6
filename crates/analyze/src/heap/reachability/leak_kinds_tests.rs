//! Heaps drawn by chance, and their leak kinds found naively: from the definitions, by the closure of all pointers.

use heaplens_format::recording::{Amount, LeakKind};
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::Block;
use proptest::prelude::*;

use crate::heap::synthetic::{Words, data, register};
use crate::heap::{Blocks, Graph, LeakKinds, Roots};

const HEAP: u64 = 0x5555_5555_0000;
const DATA: u64 = 0x5555_0000_0000;

/// A pointer: from which block (`None`: from a root) to which, and the offset in it.
type Pointer = (Option<usize>, usize, u64);

#[derive(Debug)]
struct Drawn {
    sizes: Vec<u64>,
    pointers: Vec<Pointer>,
}

impl Drawn {
    fn address(&self, block: usize) -> u64 {
        HEAP + self.sizes[..block].iter().map(|size| size + 16).sum::<u64>()
    }

    /// Every block has the first word 0, which no header has, then its pointers.
    fn graph(&self) -> Graph {
        let (mut memory, mut next) = (Words::default(), vec![8; self.sizes.len()]);
        for block in 0..self.sizes.len() {
            let words = (0..self.sizes[block]).step_by(8);
            memory.0.extend(words.map(|offset| (self.address(block) + offset, 0)));
        }
        let mut registers = Vec::new();
        let mut end = DATA;
        for &(from, to, offset) in &self.pointers {
            let word = self.address(to) + offset;
            match from {
                Some(from) => {
                    memory.0.insert(self.address(from) + next[from], word);
                    next[from] += 8;
                }
                None if offset == 0 && to % 2 == 0 => registers.push(register(word)),
                None => {
                    memory.0.insert(end, word);
                    end += 8;
                }
            }
        }
        let block = |number: usize| Block {
            address: Addr::new(self.address(number)),
            size: Bytes::new(self.sizes[number]),
            site: number as u32 % 3,
        };
        let blocks = Blocks::new((0..self.sizes.len()).map(block).collect()).unwrap();
        Graph::new(blocks, &Roots { ranges: vec![data(DATA, end)], registers, ..Roots::default() }, &memory)
    }

    /// Which blocks can be reached from which by pointers that `passes` accepts.
    fn closure(&self, passes: impl Fn(&Pointer) -> bool) -> Vec<Vec<bool>> {
        let count = self.sizes.len();
        let mut reaches = vec![vec![false; count]; count];
        for pointer in self.pointers.iter().filter(|pointer| passes(pointer)) {
            if let (Some(from), to, _) = *pointer {
                reaches[from][to] = true;
            }
        }
        for by in 0..count {
            for from in 0..count {
                for to in 0..count {
                    reaches[from][to] |= reaches[from][by] && reaches[by][to];
                }
            }
        }
        reaches
    }

    /// Blocks that can be reached from a root by pointers that `passes` accepts.
    fn reached(&self, passes: impl Fn(&Pointer) -> bool + Copy) -> Vec<bool> {
        let closure = self.closure(passes);
        let roots: Vec<usize> = self
            .pointers
            .iter()
            .filter(|pointer| pointer.0.is_none() && passes(pointer))
            .map(|pointer| pointer.1)
            .collect();
        (0..self.sizes.len())
            .map(|block| roots.iter().any(|&root| root == block || closure[root][block]))
            .collect()
    }

    fn kinds(&self) -> Vec<LeakKind> {
        let (strongly, somehow) = (self.reached(|pointer| pointer.2 == 0), self.reached(|_| true));
        let closure = self.closure(|_| true);
        let is_lost = |block: &usize| !somehow[*block];
        let lost: Vec<usize> = (0..self.sizes.len()).filter(is_lost).collect();
        let leads = |block: usize| {
            let above = |other: &usize| *other != block && closure[*other][block];
            lost.iter().copied().filter(above).all(|other| closure[block][other] && block < other)
        };
        let kind = |block: usize| match block {
            _ if strongly[block] => LeakKind::StillReachable,
            _ if somehow[block] => LeakKind::PossiblyLost,
            _ if leads(block) => LeakKind::DefinitelyLost,
            _ => LeakKind::IndirectlyLost,
        };
        (0..self.sizes.len()).map(kind).collect()
    }
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (1usize..10).prop_flat_map(|count| {
        let sizes = prop::collection::vec((12u64..40).prop_map(|words| 8 * words), count);
        // 8, 16 and 24 are left out: after a header, or before a second pointer to the same block, a pointer may point there
        // for a good reason.
        let offset = prop_oneof![3 => Just(0u64), 1 => Just(32u64), 1 => Just(48u64)];
        let from = prop::option::weighted(0.9, 0..count);
        (sizes, prop::collection::vec((from, 0..count, offset), 0..2 * count))
            .prop_map(|(sizes, pointers)| Drawn { sizes, pointers })
    })
}

proptest! {
    #[test]
    fn kinds_are_what_the_definitions_say(drawn in drawn()) {
        // A block can hold eleven pointers.
        prop_assume!((0..drawn.sizes.len()).all(|block| {
            drawn.pointers.iter().filter(|pointer| pointer.0 == Some(block)).count() < 11
        }));
        let graph = drawn.graph();
        let kinds = LeakKinds::of(&graph);
        let found: Vec<LeakKind> = graph.blocks().ids().map(|block| kinds.get(block)).collect();
        prop_assert_eq!(&found, &drawn.kinds());
        let of = |wanted: LeakKind| (0..found.len()).filter(move |&block| found[block] == wanted);
        let indirect: u64 = of(LeakKind::IndirectlyLost).map(|block| drawn.sizes[block]).sum();
        let led: u64 = graph.blocks().ids().map(|block| kinds.indirect(block).bytes.get()).sum();
        prop_assert_eq!(led, indirect, "every indirectly lost block is lost with one other");
        let sites = kinds.sites(&graph, |_| true);
        let direct: u64 = sites.iter().map(|site| site.direct.bytes.get()).sum();
        prop_assert_eq!(direct, drawn.sizes.iter().sum::<u64>());
    }
}

/// Two blocks, the first of them lost or not; `header` are the first words of the second, and one root points into it.
fn kind_after_header(size: u64, header: &[u64], offset: u64) -> LeakKind {
    let mut memory = Words::default();
    memory.0.extend((0..size).step_by(8).map(|at| (HEAP + at, 0)));
    memory.0.extend((0..).step_by(8).map(|at| HEAP + at).zip(header.iter().copied()));
    let block = Block { address: Addr::new(HEAP), size: Bytes::new(size), site: 1 };
    let roots = Roots { registers: vec![register(HEAP + offset)], ..Roots::default() };
    let graph = Graph::new(Blocks::new(vec![block]).unwrap(), &roots, &memory);
    LeakKinds::of(&graph).get(graph.blocks().ids().next().unwrap())
}

#[test]
fn a_pointer_past_a_header_that_programs_write_is_as_good_as_one_to_the_start() {
    let (reachable, possibly) = (LeakKind::StillReachable, LeakKind::PossiblyLost);
    assert_eq!(kind_after_header(8 + 5 * 24, &[5], 8), reachable, "five objects of new[]");
    assert_eq!(kind_after_header(8 + 5 * 24, &[7], 8), possibly, "seven do not fit");
    assert_eq!(kind_after_header(8 + 5 * 24, &[0], 8), possibly);
    assert_eq!(kind_after_header(8 + 5 * 24, &[5], 16), possibly);
    assert_eq!(kind_after_header(64, &[56], 8), reachable, "a length in bytes");
    assert_eq!(kind_after_header(24 + 31 + 1, &[12, 31, 0], 24), reachable, "a string");
    assert_eq!(kind_after_header(24 + 31 + 1, &[32, 31, 0], 24), possibly, "longer than its capacity");
    assert_eq!(kind_after_header(24 + 40 + 1, &[12, 31, 0], 24), possibly);
}

/// Two adjacent words that point so far into a block of 96 bytes.
fn kind_of_table(control: u64, slots: u64) -> LeakKind {
    let pointers = vec![(None, 1, control), (None, 1, slots)];
    let graph = Drawn { sizes: vec![96, 96], pointers }.graph();
    LeakKinds::of(&graph).get(graph.blocks().ids().nth(1).unwrap())
}

#[test]
fn a_hash_table_is_held_by_its_control_bytes_and_its_slots() {
    assert_eq!(kind_of_table(8, 32), LeakKind::StillReachable);
    assert_eq!(kind_of_table(16, 40), LeakKind::StillReachable, "with a word for statistics");
    assert_eq!(kind_of_table(16, 16), LeakKind::PossiblyLost, "slots follow");
    assert_eq!(kind_of_table(40, 16), LeakKind::PossiblyLost);
    assert_eq!(kind_of_table(32, 48), LeakKind::PossiblyLost, "so far into a block there is no table");
}

#[test]
fn what_an_earlier_block_took_goes_to_the_one_that_points_to_it() {
    // 0 takes 1; then 2 points to 0.
    let drawn = Drawn { sizes: vec![96, 104, 112], pointers: vec![(Some(0), 1, 0), (Some(2), 0, 16)] };
    let graph = drawn.graph();
    let kinds = LeakKinds::of(&graph);
    let indirect: Vec<Amount> = graph.blocks().ids().map(|block| kinds.indirect(block)).collect();
    let none = Amount::default();
    assert_eq!(indirect, [none, none, Amount { bytes: Bytes::new(200), blocks: 2 }]);
}
