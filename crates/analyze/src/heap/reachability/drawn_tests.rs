//! Paths and dominators on heaps drawn by chance, against what the definitions say.

use std::collections::HashMap;

use proptest::prelude::*;

use crate::heap::synthetic::{Heap, id_at};
use crate::heap::{COLLECTOR_GROUP, Content, Dominators, Graph, Node, Path, Paths, RootOrigin};

const BASE: u64 = 0x5555_5555_0000;

/// A heap by numbers. Roots are (rank, group, block).
#[derive(Debug)]
struct Drawn {
    count: usize,
    pointers: Vec<(usize, usize, u64)>,
    roots: Vec<(u8, u32, usize)>,
    tracked: Vec<bool>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (1usize..14).prop_flat_map(|count| {
        let offset = prop_oneof![4 => Just(0u64), 1 => Just(48u64)];
        let pointers = prop::collection::vec((0..count, 0..count, offset), 0..3 * count);
        let roots = prop::collection::vec((0u8..3, 0u32..4, 0..count), 0..5);
        let tracked = prop::collection::vec(prop::bool::weighted(0.2), count);
        (pointers, roots, tracked).prop_map(move |(pointers, roots, tracked)| Drawn {
            count,
            pointers,
            roots,
            tracked,
        })
    })
}

impl Drawn {
    fn address(block: usize) -> u64 {
        BASE + 1024 * block as u64
    }

    fn size(block: usize) -> u64 {
        400 + 8 * block as u64
    }

    fn graph(&self) -> Graph {
        let mut heap = Heap::default();
        for block in 0..self.count {
            heap.block(Self::address(block), Self::size(block), 1);
            if self.tracked[block] {
                heap.track(Self::address(block));
            }
        }
        for &(from, to, offset) in &self.pointers {
            heap.point_into(Self::address(from), Self::address(to), offset);
        }
        for &(rank, group, block) in &self.roots {
            heap.name(rank, group, Self::address(block));
        }
        heap.graph()
    }

    /// The stages in which blocks are reached: ranks, then the collector's. Each is a list of (group, blocks).
    fn stages(&self) -> Vec<Vec<(u32, usize)>> {
        let of_rank = |rank: u8| {
            let roots = self.roots.iter().filter(move |root| root.0 == rank);
            roots.map(|&(_, group, block)| (group, block)).collect::<Vec<_>>()
        };
        let mut stages: Vec<_> = (0..3).map(of_rank).collect();
        let mut reached = vec![false; self.count];
        stages.iter().for_each(|stage| self.flood(stage, None, &mut reached));
        let left: Vec<usize> = (0..self.count).filter(|&block| !reached[block]).collect();
        let is_held = |block: usize| {
            self.pointers.iter().any(|&(from, to, _)| to == block && from != to && left.contains(&from))
        };
        let tops: Vec<_> = left.iter().filter(|&&block| self.tracked[block] && !is_held(block)).collect();
        stages.push(tops.into_iter().map(|&block| (COLLECTOR_GROUP, block)).collect());
        self.flood(&stages[3], None, &mut reached);
        for block in 0..self.count {
            if self.tracked[block] && !reached[block] {
                let stage = vec![(COLLECTOR_GROUP, block)];
                self.flood(&stage, None, &mut reached);
                stages.push(stage);
            }
        }
        stages
    }

    /// Marks what can be reached from some roots without going through a block.
    fn flood(&self, roots: &[(u32, usize)], without: Option<Gone>, reached: &mut [bool]) {
        let is_gone = |block: usize| without == Some(Gone::Block(block));
        let kept = roots.iter().filter(|root| without != Some(Gone::Group(root.0)));
        let mut open: Vec<usize> = kept.map(|root| root.1).collect();
        while let Some(block) = open.pop() {
            if !is_gone(block) && !reached[block] {
                reached[block] = true;
                open.extend(
                    self.pointers.iter().filter(|pointer| pointer.0 == block).map(|pointer| pointer.1),
                );
            }
        }
    }

    /// Depth of each block in its stage, and the stage.
    fn depths(&self) -> Vec<Option<(usize, usize)>> {
        let mut depths = vec![None; self.count];
        for (stage, roots) in self.stages().iter().enumerate() {
            let mut level: Vec<usize> = roots.iter().map(|root| root.1).collect();
            for depth in 0.. {
                level.retain(|&block| depths[block].is_none());
                if level.is_empty() {
                    break;
                }
                level.iter().for_each(|&block| depths[block] = Some((stage, depth)));
                let next = self.pointers.iter().filter(|pointer| level.contains(&pointer.0));
                level = next.map(|pointer| pointer.1).collect();
            }
        }
        depths
    }

    /// What cannot be reached any more in its own stage when a node is gone.
    fn retained(&self, gone: Gone) -> Vec<usize> {
        let (mut before, mut lost) = (vec![false; self.count], Vec::new());
        for roots in self.stages() {
            let (mut with, mut without) = (before.clone(), before.clone());
            self.flood(&roots, None, &mut with);
            self.flood(&roots, Some(gone), &mut without);
            lost.extend((0..self.count).filter(|&block| with[block] && !without[block]));
            before = with;
        }
        lost
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gone {
    Block(usize),
    Group(u32),
}

fn group_of(origin: RootOrigin) -> u32 {
    match origin {
        RootOrigin::Named { id } => id,
        _ => panic!("only named roots were drawn"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn a_path_is_a_chain_of_pointers_and_no_other_is_shorter(drawn in drawn()) {
        let graph = drawn.graph();
        let paths = Paths::of(&graph);
        for (block, depth) in drawn.depths().into_iter().enumerate() {
            let id = id_at(&graph, Drawn::address(block));
            let Some(Path { root: origin, first: path, last }) = paths.path(&graph, id) else {
                prop_assert_eq!(depth, None);
                continue;
            };
            let (stage, depth) = depth.expect("it has a path");
            prop_assert_eq!((path.len(), last.len()), (depth + 1, 0));
            prop_assert_eq!(*path.last().unwrap(), id);
            for step in path.windows(2) {
                prop_assert!(graph.targets(step[0]).any(|target| target == step[1]));
            }
            let stages = drawn.stages();
            let first = path[0];
            let expected = stages[stage].iter().find(|root| id_at(&graph, Drawn::address(root.1)) == first).unwrap();
            match origin {
                RootOrigin::Named { id } => prop_assert_eq!(id, expected.0, "of several roots the first counts"),
                _ => prop_assert_eq!(expected.0, COLLECTOR_GROUP),
            }
        }
    }

    #[test]
    fn a_node_retains_what_is_out_of_reach_without_it(drawn in drawn()) {
        let graph = drawn.graph();
        let dominators = Dominators::of(&graph, group_of).unwrap();
        let sum = |blocks: &[usize]| blocks.iter().map(|&block| Drawn::size(block)).sum::<u64>();
        let mut ids = HashMap::new();
        for block in 0..drawn.count {
            let id = id_at(&graph, Drawn::address(block));
            ids.insert(id, block);
            let expected = drawn.retained(Gone::Block(block));
            let found = dominators.retained(id);
            prop_assert_eq!((found.bytes.get(), found.blocks), (sum(&expected), expected.len() as u64), "block {}", block);
        }
        for group in (0..4).chain([COLLECTOR_GROUP]) {
            let expected = drawn.retained(Gone::Group(group));
            prop_assert_eq!(dominators.retained_by_group(group).bytes.get(), sum(&expected), "group {}", group);
        }
        for (&id, &block) in &ids {
            match dominators.dominator(id) {
                None => prop_assert!(drawn.depths()[block].is_none()),
                Some(Node::Everything) => {}
                Some(Node::Group(group)) => prop_assert!(drawn.retained(Gone::Group(group)).contains(&block)),
                Some(Node::Block(by)) => prop_assert!(drawn.retained(Gone::Block(ids[&by])).contains(&block)),
            }
        }
    }
}

/// A list with many links: what is in the middle of a path is left out.
#[test]
fn a_long_path_is_its_beginning_and_its_end() {
    let count = 76;
    let pointers = (1..count).map(|block| (block - 1, block, 0)).collect();
    let drawn = Drawn { count, pointers, roots: vec![(0, 3, 0)], tracked: vec![false; count] };
    let graph = drawn.graph();
    let paths = Paths::of(&graph);
    let ids = |blocks: std::ops::RangeInclusive<usize>| -> Vec<_> {
        blocks.map(|block| id_at(&graph, Drawn::address(block))).collect()
    };
    let root = RootOrigin::Named { id: 3 };
    let path = |to: usize| paths.path(&graph, id_at(&graph, Drawn::address(to))).expect("the list holds it");
    for to in [0, 31, 32, 63] {
        assert_eq!(path(to), Path { root, first: ids(0..=to), last: Vec::new() });
    }
    for to in [64, 75] {
        assert_eq!(path(to), Path { root, first: ids(0..=31), last: ids(to - 31..=to) });
    }
}

/// A path of four objects and one of three blocks lead to the same block.
#[test]
fn a_path_by_objects_counts_and_not_a_shorter_one_through_memory_of_no_type() {
    let pointers = [(0, 1), (1, 2), (2, 3), (3, 6), (0, 4), (4, 5), (5, 6)].map(|(from, to)| (from, to, 0));
    let drawn =
        Drawn { count: 7, pointers: pointers.to_vec(), roots: vec![(0, 3, 0)], tracked: vec![false; 7] };
    let graph = drawn.graph();
    let path_to_last = |untyped: &[usize]| {
        let untyped: Vec<_> = untyped.iter().map(|&block| id_at(&graph, Drawn::address(block))).collect();
        let content = |block| if untyped.contains(&block) { Content::Unknown } else { Content::Object };
        let paths = Paths::through(&graph, content);
        let path = paths.path(&graph, id_at(&graph, Drawn::address(6))).expect("it is held");
        path.first.len()
    };
    assert_eq!(path_to_last(&[]), 4);
    assert_eq!(path_to_last(&[4]), 4, "memory of an object");
    assert_eq!(path_to_last(&[4, 5]), 5, "old words may lie in memory that memory leads to");
    assert_eq!(path_to_last(&[4, 5, 1, 2, 3]), 4, "neither is better");
}

/// What an object of an early root has through its class is named after a later root that has it itself.
#[test]
fn an_object_does_not_hold_what_its_class_has() {
    let pointers = vec![(0, 1, 0), (1, 2, 0), (3, 2, 0)];
    let drawn = Drawn { count: 4, pointers, roots: vec![(0, 3, 0), (1, 5, 3)], tracked: vec![false; 4] };
    let graph = drawn.graph();
    let root_of_last = |class: Option<usize>| {
        let class = class.map(|block| id_at(&graph, Drawn::address(block)));
        let content = |block| if class == Some(block) { Content::Class } else { Content::Object };
        let paths = Paths::through(&graph, content);
        paths.path(&graph, id_at(&graph, Drawn::address(2))).expect("it is held").root
    };
    assert_eq!(root_of_last(None), RootOrigin::Named { id: 3 });
    assert_eq!(root_of_last(Some(1)), RootOrigin::Named { id: 5 });
    assert_eq!(root_of_last(Some(0)), RootOrigin::Named { id: 3 }, "a class that a name leads to");
}

/// An old word of an object of an early root leads to a mapping, such as the stack of a thread.
#[test]
fn what_a_mapping_leads_to_is_held_by_the_variable_that_refers_to_it() {
    let (mapping, item) = (1, 2);
    let pointers = vec![(0, mapping, 0), (mapping, item, 0), (3, 4, 0), (4, item, 0)];
    let drawn = Drawn { count: 5, pointers, roots: vec![(0, 3, 0), (1, 5, 3)], tracked: vec![false; 5] };
    let graph = drawn.graph();
    let root_of = |content: Content| {
        let of =
            |block| if block == id_at(&graph, Drawn::address(mapping)) { content } else { Content::Object };
        Paths::through(&graph, of).path(&graph, id_at(&graph, Drawn::address(item))).expect("it is held").root
    };
    assert_eq!(root_of(Content::Mapping), RootOrigin::Named { id: 5 });
    assert_eq!(
        root_of(Content::Unknown),
        RootOrigin::Named { id: 3 },
        "memory that the object has for itself"
    );
}

/// Objects of an early root lead to a context that a later root has itself.
#[test]
fn what_many_objects_share_is_held_by_the_variable_that_has_it() {
    let (context, other) = (40, 41);
    let own = (0..40).map(|object| (object, context, 0));
    let pointers = own.chain([(context, other, 0)]).collect();
    let mut drawn =
        Drawn { count: 42, pointers, roots: vec![(0, 3, 0), (1, 5, context)], tracked: vec![false; 42] };
    drawn.roots.extend((1..40).map(|object| (0, 3, object)));
    let graph = drawn.graph();
    let root_of = |content: Content| {
        let of =
            |block| if block == id_at(&graph, Drawn::address(context)) { content } else { Content::Object };
        let paths = Paths::through(&graph, of);
        paths.path(&graph, id_at(&graph, Drawn::address(other))).expect("it is held").root
    };
    assert_eq!(root_of(Content::Native), RootOrigin::Named { id: 5 });
    assert_eq!(root_of(Content::Object), RootOrigin::Named { id: 3 }, "an object of Python's that is shared");
}
