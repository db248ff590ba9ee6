//! Words that do not count, objects that do not begin where their block begins, and what the collector knows.

use heaplens_format::recording::LeakKind;
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{Block, Rank, Span};

use crate::heap::synthetic::{Words, id_at};
use crate::heap::{
    Blocks, COLLECTOR_GROUP, Dominators, Graph, LeakKinds, Links, NamedRoot, NonOwningPart, Paths,
    RootOrigin, Roots,
};

const FIRST: u64 = 0x5555_0000_1000;
const SECOND: u64 = 0x5555_0000_2000;
const THIRD: u64 = 0x5555_0000_3000;

/// Three blocks of twelve words, the first of which a root holds; `words` are (block, number of the word, value).
fn graph(words: &[(u64, u64, u64)], links: impl Fn(u64) -> Links) -> Graph {
    graph_and_memory(words, links).0
}

fn graph_and_memory(words: &[(u64, u64, u64)], links: impl Fn(u64) -> Links) -> (Graph, Words) {
    let mut memory = Words::default();
    let blocks = [FIRST, SECOND, THIRD];
    for start in blocks {
        memory.0.extend((0..96).step_by(8).map(|offset| (start + offset, 0)));
    }
    memory.0.extend(words.iter().map(|&(block, number, value)| (block + 8 * number, value)));
    let block = |start: u64| Block { address: Addr::new(start), size: Bytes::new(96), site: 1 };
    let named = vec![NamedRoot { rank: Rank::MainModule, id: 7, address: Addr::new(FIRST), is_sole: false }];
    let roots = Roots { named, ..Roots::default() };
    let blocks = Blocks::new(blocks.map(block).to_vec()).unwrap();
    let graph = Graph::with_links(blocks, &roots, &memory, |_, block, words| {
        assert_eq!(words.len(), 12, "all words are passed");
        links(block.address.get())
    });
    (graph, memory)
}

fn path(graph: &Graph, to: u64) -> Option<(RootOrigin, usize)> {
    let path = Paths::of(graph).path(graph, id_at(graph, to));
    path.map(|path| (path.root, path.first.len()))
}

#[test]
fn links_and_weak_references_hold_nothing() {
    let words = [(FIRST, 2, SECOND), (FIRST, 3, SECOND), (FIRST, 5, THIRD)];
    let held = Some((RootOrigin::Named { id: 7 }, 2));
    let all = graph(&words, |_| Links::default());
    assert_eq!((path(&all, SECOND), path(&all, THIRD)), (held, held));
    let without_links = graph(&words, |_| Links { non_owning: 0b1100, ..Links::default() });
    assert_eq!((path(&without_links, SECOND), path(&without_links, THIRD)), (None, held));
    let without_weak = graph(&words, |_| Links { non_owning: 1 << 5, ..Links::default() });
    assert_eq!((path(&without_weak, SECOND), path(&without_weak, THIRD)), (held, None));
}

/// The memory that something says it has, and what of it it does not use.
type Part = ((u64, u64), (u64, u64));

/// How many blocks each block holds when these parts are left out.
fn held_without(words: &[(u64, u64, u64)], parts: &[Part]) -> [usize; 3] {
    let (mut graph, memory) = graph_and_memory(words, |_| Links::default());
    let span = |(start, end)| Span::new(Addr::new(start), Addr::new(end));
    let part = |&(whole, rest): &Part| NonOwningPart { whole: span(whole), non_owning: span(rest) };
    graph.forget(&parts.iter().map(part).collect::<Vec<_>>(), &memory);
    [FIRST, SECOND, THIRD].map(|block| graph.targets(id_at(&graph, block)).count())
}

#[test]
fn what_lies_in_a_part_that_is_not_in_use_holds_nothing() {
    let words =
        [(FIRST, 2, SECOND), (FIRST, 4, THIRD), (FIRST, 5, SECOND), (FIRST, 9, FIRST), (SECOND, 1, THIRD)];
    let held = |parts: &[Part]| held_without(&words, parts);
    let (first, second) = ((FIRST, FIRST + 96), (SECOND, SECOND + 96));
    assert_eq!(held(&[]), [3, 1, 0]);
    assert_eq!(held(&[(first, (FIRST + 32, FIRST + 48))]), [1, 1, 0]);
    assert_eq!(held(&[(first, (FIRST + 40, FIRST + 96))]), [2, 1, 0]);
    let two = [(first, (FIRST + 32, FIRST + 40)), (first, (FIRST + 40, FIRST + 48))];
    assert_eq!(held(&two), [1, 1, 0], "before the items of a deque and after them");
    assert_eq!(held(&[(second, second), (first, (FIRST, FIRST + 40))]), [1, 0, 0]);
    assert_eq!(held(&[(first, (FIRST + 48, FIRST + 96)), ((0, 8), (0, 8))]), [3, 1, 0], "nothing is there");
}

#[test]
fn what_follows_a_full_list_in_its_block_holds_nothing() {
    let words = [(FIRST, 9, SECOND), (FIRST, 10, SECOND), (FIRST, 11, THIRD)];
    let held = |part: Part| held_without(&words, &[part])[0];
    let list = |items: u64, capacity: u64| {
        ((FIRST, FIRST + 8 * capacity), (FIRST + 8 * items, FIRST + 8 * capacity))
    };
    assert_eq!(held(list(11, 11)), 2, "eleven items, and an old word in a block of twelve");
    assert_eq!(held(list(10, 11)), 1);
    assert_eq!(held(list(12, 12)), 3);
    assert_eq!(held(list(9, 9)), 3, "its items are not in a block that is so much larger");
}

/// A set has the list of weak references to itself after the table in it.
#[test]
fn words_that_do_not_count_take_no_part_in_what_is_left_out() {
    let words = [(FIRST, 2, SECOND), (FIRST, 5, THIRD), (FIRST, 10, SECOND)];
    let (mut graph, memory) = graph_and_memory(&words, |_| Links { non_owning: 1 << 10, ..Links::default() });
    let span = |from: u64, to: u64| Span::new(Addr::new(FIRST + 8 * from), Addr::new(FIRST + 8 * to));
    graph.forget(&[NonOwningPart { whole: span(0, 10), non_owning: span(4, 10) }], &memory);
    let held: Vec<_> = graph.targets(id_at(&graph, FIRST)).collect();
    assert_eq!(held, [id_at(&graph, SECOND)], "the table that it has instead");
}

#[test]
fn what_only_looks_like_an_object_takes_no_pointer_from_another() {
    let words = [(FIRST, 2, SECOND), (FIRST, 4, THIRD)];
    let held = |parts: &[Part]| held_without(&words, parts)[0];
    let (own, rest) = ((FIRST, FIRST + 96), (FIRST + 24, FIRST + 96));
    assert_eq!(held(&[(own, rest)]), 1);
    assert_eq!(held(&[(rest, rest)]), 2, "its items would begin inside a block");
    assert_eq!(held(&[((FIRST, FIRST + 104), (FIRST + 24, FIRST + 104))]), 2, "they would not fit");
    assert_eq!(held(&[(own, rest), (own, (FIRST + 32, FIRST + 40))]), 2, "two say that it is theirs");
    assert_eq!(held(&[(own, rest), (own, rest)]), 2, "two say that it is theirs");
}

#[test]
fn a_pointer_to_an_object_after_the_links_of_the_collector_is_one_to_its_start() {
    let kind = |offset: u64, object_at: u8| {
        let graph = graph(&[(FIRST, 2, SECOND + offset)], |_| Links { object_at, ..Links::default() });
        LeakKinds::of(&graph).get(id_at(&graph, SECOND))
    };
    assert_eq!(kind(16, 16), LeakKind::StillReachable);
    assert_eq!(kind(32, 32), LeakKind::StillReachable);
    assert_eq!(kind(16, 0), LeakKind::PossiblyLost);
    assert_eq!(kind(32, 16), LeakKind::PossiblyLost);
}

#[test]
fn what_the_collector_knows_is_not_lost_and_holds_what_nothing_else_does() {
    let links = |block| Links { is_tracked: block != FIRST, ..Links::default() };
    // The second holds the third, and both hold the first.
    let graph = graph(&[(SECOND, 2, THIRD), (THIRD, 2, FIRST), (SECOND, 3, FIRST)], links);
    let kinds = LeakKinds::of(&graph);
    assert!(graph.blocks().ids().all(|block| kinds.get(block) == LeakKind::StillReachable));
    assert_eq!(path(&graph, SECOND), Some((RootOrigin::Collector, 1)));
    assert_eq!(path(&graph, THIRD), Some((RootOrigin::Collector, 2)));
    assert_eq!(path(&graph, FIRST), Some((RootOrigin::Named { id: 7 }, 1)));
    let dominators = Dominators::of(&graph, |_| 7).unwrap();
    assert_eq!(
        dominators.retained_by_group(7).blocks,
        1,
        "what waits for the collector takes nothing from it"
    );
    assert_eq!(dominators.retained_by_group(COLLECTOR_GROUP).blocks, 2);
    assert_eq!(dominators.retained(id_at(&graph, SECOND)).blocks, 2);
}

#[test]
fn a_root_that_points_to_the_links_of_the_collector_holds_nothing() {
    let first = |object_at: u8, is_tracked: bool| {
        let graph = graph(&[], |_| Links { object_at, is_tracked, ..Links::default() });
        path(&graph, FIRST).map(|(root, _)| root)
    };
    assert_eq!(first(0, true), Some(RootOrigin::Named { id: 7 }), "it points to the object");
    assert_eq!(first(16, false), Some(RootOrigin::Named { id: 7 }), "it is in no list of the collector's");
    assert_eq!(first(16, true), Some(RootOrigin::Collector), "it is the head of such a list");
}
