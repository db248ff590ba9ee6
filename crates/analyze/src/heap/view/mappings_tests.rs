//! Memory that the program mapped itself: a step on the path to what it holds, and never lost.

use heaplens_format::recording::{HeapView, LeakCheck, LeakKind, LostSite, PathNode, Step};
use heaplens_format::{Addr, Bytes, Nanos};
use heaplens_snapshot::{Block, Memory, Missing, RootKind, RootRange, RootSet, Snapshot, Span};

use crate::heap::Analysis;
use crate::heap::synthetic::Words;

const STACK: u64 = 0x7fff_0000_0000;
const MAPPING: u64 = 0x7f00_0000_0000;
const FAR: u64 = 0x7f00_0010_0000;
const HELD: u64 = 0x5555_0000_1000;
const LOST: u64 = 0x5555_0000_2000;
const OF_BLOCKS: u32 = 3;
const OF_MAPPINGS: u32 = 4;

/// What was found in a snapshot.
struct Found {
    lost: Vec<LostSite>,
    view: HeapView,
}

fn range(start: u64, length: u64, kind: RootKind) -> RootRange {
    RootRange { span: Span::new(Addr::new(start), Addr::new(start + length)), kind }
}

/// A stack and two mappings of a page each, and two blocks of four words; the words are (address, value).
fn snapshot(words: &[(u64, u64)]) -> Snapshot {
    let mut memory = Words::default();
    for (start, length) in [(STACK, 64), (MAPPING, 4096), (FAR, 4096), (HELD, 32), (LOST, 32)] {
        memory.0.extend((start..start + length).step_by(8).map(|address| (address, 0)));
    }
    memory.0.extend(words.iter().copied());
    let mapped = |start| range(start, 4096, RootKind::Mapped { site: OF_MAPPINGS });
    let stack = range(STACK, 64, RootKind::Stack { thread: 7 });
    let block = |at| Block { address: Addr::new(at), size: Bytes::new(32), site: OF_BLOCKS };
    Snapshot {
        process: heaplens_format::Pid::new(1),
        memory: Memory::new(memory),
        blocks: vec![block(HELD), block(LOST)],
        ignored: Vec::new(),
        roots: RootSet { ranges: vec![stack, mapped(MAPPING), mapped(FAR)], ..RootSet::default() },
        mappings: Vec::new(),
        python: None,
        pause: Nanos::default(),
        missing: Missing::default(),
        canaries: None,
        focus: None,
    }
}

fn examine(words: &[(u64, u64)]) -> Found {
    let examined = Analysis::default().holders(&snapshot(words));
    match (examined.leaks, examined.view) {
        (Some(LeakCheck::Done(lost)), Some(view)) => Found { lost, view },
        other => panic!("{other:?}"),
    }
}

/// The path to the first block of a site.
fn path(found: &Found, site: u32) -> Vec<(Step, &str, u64)> {
    let nodes = &found.view.nodes;
    let holder = found.view.holders.iter().find(|holder| holder.site == site).unwrap();
    let mut path: Vec<&PathNode> = vec![&nodes[holder.node as usize]];
    while let Some(parent) = path.last().unwrap().parent {
        path.push(&nodes[parent as usize]);
    }
    path.iter().rev().map(|node| (node.step, &*node.class, node.address)).collect()
}

#[test]
fn a_mapping_is_a_step_on_the_path_to_what_only_it_holds() {
    let found = examine(&[(STACK + 8, MAPPING), (MAPPING + 512, HELD), (FAR + 8, LOST)]);
    let step = (Step::Pointer, "mapping", MAPPING);
    assert_eq!(path(&found, OF_BLOCKS), [(Step::Stack, "", 0), step, (Step::Pointer, "", HELD)]);
    assert_eq!(path(&found, OF_MAPPINGS), [(Step::Stack, "", 0), step]);
    let rows: Vec<(&str, u64)> =
        found.view.classes.iter().map(|row| (&*row.class, row.live.blocks)).collect();
    assert_eq!(rows, [("mapping", 2), ("blocks up to 64 B", 2)]);
    let retained = found.view.nodes.iter().find(|node| node.address == MAPPING).unwrap().retained;
    assert_eq!((retained.bytes.get(), retained.blocks), (4096 + 32, 2));
}

#[test]
fn what_a_mapping_that_nobody_points_to_holds_is_held_by_mapped_memory_and_not_lost() {
    let found = examine(&[(MAPPING, HELD)]);
    assert_eq!(path(&found, OF_BLOCKS), [(Step::Mapped, "", 0), (Step::Pointer, "", HELD)]);
    let kinds: Vec<(LeakKind, u32, u64)> =
        found.lost.iter().map(|lost| (lost.kind, lost.site, lost.direct.blocks)).collect();
    let [held, lost] = [LeakKind::StillReachable, LeakKind::DefinitelyLost];
    assert_eq!(kinds.len(), 2, "mappings are not among them");
    assert!(kinds.contains(&(held, OF_BLOCKS, 1)) && kinds.contains(&(lost, OF_BLOCKS, 1)));
}

#[test]
fn a_pointer_from_a_mapping_into_a_block_makes_it_possibly_lost_as_one_from_a_root_does() {
    let found = examine(&[(MAPPING, HELD + 24), (FAR, LOST)]);
    let possibly: Vec<u64> = found
        .lost
        .iter()
        .filter(|lost| lost.kind == LeakKind::PossiblyLost)
        .map(|lost| lost.direct.blocks)
        .collect();
    assert_eq!(possibly, [1]);
}

#[test]
fn what_only_a_register_may_lead_to_is_not_called_lost_where_registers_are_missing() {
    let snapshot = Snapshot { missing: Missing { registers: true }, ..snapshot(&[(MAPPING, HELD)]) };
    let (leaks, holders) = (Analysis::default().leaks(&snapshot), Analysis::default().holders(&snapshot));
    assert!(matches!(leaks.leaks, Some(LeakCheck::NotDone(why)) if why.contains("registers")));
    assert!(matches!(holders.leaks, Some(LeakCheck::NotDone(_))) && holders.view.is_some());
}
