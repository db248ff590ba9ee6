//! Memory that the program mapped itself: a step on the way to what it holds, and never lost.

use heaplens_format::recording::{LeakKind, PathNode, Step};
use heaplens_format::{Addr, Bytes};

use super::synthetic::Words;
use super::{Block, Examiner, Look, RootKind, RootRange, Scene};

const STACK: u64 = 0x7fff_0000_0000;
const MAPPING: u64 = 0x7f00_0000_0000;
const FAR: u64 = 0x7f00_0010_0000;
const HELD: u64 = 0x5555_0000_1000;
const LOST: u64 = 0x5555_0000_2000;
const OF_BLOCKS: u32 = 3;
const OF_MAPPINGS: u32 = 4;

/// A stack and two mappings of a page each, and two blocks of four words; the words are (address, value).
fn look(words: &[(u64, u64)]) -> Look {
    let mut memory = Words::default();
    for (start, length) in [(STACK, 64), (MAPPING, 4096), (FAR, 4096), (HELD, 32), (LOST, 32)] {
        memory.0.extend((start..start + length).step_by(8).map(|address| (address, 0)));
    }
    memory.0.extend(words.iter().copied());
    let mapped =
        |start| RootRange { start, end: start + 4096, kind: RootKind::Mapped { site: OF_MAPPINGS }, rank: 5 };
    let stack = RootRange { start: STACK, end: STACK + 64, kind: RootKind::Stack { thread: 7 }, rank: 4 };
    let block = |at| Block { address: Addr::new(at), size: Bytes::new(32), site: OF_BLOCKS };
    let scene = Scene {
        memory: &memory,
        blocks: vec![block(HELD), block(LOST)],
        roots: vec![stack, mapped(MAPPING), mapped(FAR)],
        allocator_data: Vec::new(),
        registers: Vec::new(),
        files: Vec::new(),
        python: None,
    };
    Examiner::default().look(scene).unwrap()
}

/// The way to the first block of a site.
fn way(look: &Look, site: u32) -> Vec<(Step, &str, u64)> {
    let nodes = &look.view.nodes;
    let holder = look.view.holders.iter().find(|holder| holder.site == site).unwrap();
    let mut way: Vec<&PathNode> = vec![&nodes[holder.node as usize]];
    while let Some(parent) = way.last().unwrap().parent {
        way.push(&nodes[parent as usize]);
    }
    way.iter().rev().map(|node| (node.step, &*node.class, node.address)).collect()
}

#[test]
fn a_mapping_is_a_step_on_the_way_to_what_only_it_holds() {
    let look = look(&[(STACK + 8, MAPPING), (MAPPING + 512, HELD), (FAR + 8, LOST)]);
    let step = (Step::Pointer, "mapping", MAPPING);
    assert_eq!(way(&look, OF_BLOCKS), [(Step::Stack, "", 0), step, (Step::Pointer, "", HELD)]);
    assert_eq!(way(&look, OF_MAPPINGS), [(Step::Stack, "", 0), step]);
    let rows: Vec<(&str, u64)> = look.view.classes.iter().map(|row| (&*row.class, row.live.blocks)).collect();
    assert_eq!(rows, [("mapping", 2), ("blocks up to 64 B", 2)]);
    let retained = look.view.nodes.iter().find(|node| node.address == MAPPING).unwrap().retained;
    assert_eq!((retained.bytes.get(), retained.blocks), (4096 + 32, 2));
}

#[test]
fn what_a_mapping_that_nobody_points_to_holds_is_held_by_mapped_memory_and_not_lost() {
    let look = look(&[(MAPPING, HELD)]);
    assert_eq!(way(&look, OF_BLOCKS), [(Step::Mapped, "", 0), (Step::Pointer, "", HELD)]);
    let kinds: Vec<(LeakKind, u32, u64)> =
        look.lost.iter().map(|lost| (lost.kind, lost.site, lost.direct.blocks)).collect();
    let [held, lost] = [LeakKind::StillReachable, LeakKind::DefinitelyLost];
    assert_eq!(kinds.len(), 2, "mappings are not among them");
    assert!(kinds.contains(&(held, OF_BLOCKS, 1)) && kinds.contains(&(lost, OF_BLOCKS, 1)));
}

#[test]
fn a_pointer_from_a_mapping_into_a_block_makes_it_possibly_lost_as_one_from_a_root_does() {
    let look = look(&[(MAPPING, HELD + 24), (FAR, LOST)]);
    let possibly: Vec<u64> = look
        .lost
        .iter()
        .filter(|lost| lost.kind == LeakKind::PossiblyLost)
        .map(|lost| lost.direct.blocks)
        .collect();
    assert_eq!(possibly, [1]);
}
