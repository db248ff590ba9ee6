//! Containers of all shapes that grow between two snapshots.

use crate::heap::synthetic::{Heap, id_at};
use crate::heap::{BlockKind, Dominators, Graph, Growing, Node, RootOrigin, Summary, growing, largest};

const BASE: u64 = 0x5555_5000_0000;
/// Sites below this are native; above it are classes of Python's, of which no site is known.
const CLASSES: u32 = 1000;

struct Taken {
    graph: Graph,
    summary: Summary,
}

impl Taken {
    fn at(heap: &Heap) -> Self {
        let graph = heap.graph();
        let group = |origin| match origin {
            RootOrigin::Named { id } => id,
            _ => 0,
        };
        let dominators = Dominators::of(&graph, group).unwrap();
        let kind = |node| match node {
            Node::Block(block) if graph.blocks().get(block).site < CLASSES => {
                BlockKind { class: 0, site: graph.blocks().get(block).site }
            }
            Node::Block(block) => BlockKind { class: graph.blocks().get(block).site, site: 0 },
            _ => BlockKind::default(),
        };
        let summary = Summary::of(&graph, &dominators, kind);
        Self { graph, summary }
    }

    fn block(&self, address: u64) -> Node {
        Node::Block(id_at(&self.graph, address))
    }
}

/// The points between two heaps that are made by the same function with different numbers.
fn between(make: impl Fn(u64) -> Heap, from: u64, to: u64) -> (Taken, Vec<Growing>) {
    let (earlier, later) = (Taken::at(&make(from)), Taken::at(&make(to)));
    let points = growing(&earlier.summary, &later.summary, 8);
    (later, points)
}

fn nodes(points: &[Growing]) -> Vec<Node> {
    points.iter().map(|point| point.node).collect()
}

/// A list at `at`, held by `holder` or by a root: the object, its items, and elements of a size.
fn list(heap: &mut Heap, at: u64, count: u64, size: u64) -> u64 {
    let object = heap.block(at, 56, CLASSES);
    let items = heap.block(at + 0x100, 16 + 8 * count, 2);
    heap.point(object, items);
    for number in 0..count {
        let element = heap.block(at + 0x10_0000 + number * (size + 64), size, CLASSES + 1);
        heap.point(items, element);
    }
    object
}

#[test]
fn a_list_of_small_elements_grows_at_its_items() {
    let make = |count| {
        let mut heap = Heap::default();
        let object = list(&mut heap, BASE, count, 32);
        heap.name(0, 7, object);
        heap
    };
    let (later, points) = between(make, 100, 300);
    assert_eq!(nodes(&points), [later.block(BASE + 0x100)]);
    assert_eq!(points[0].gained.get(), 200 * 40, "elements and the words that point to them");
    assert_eq!((points[0].elements_before, points[0].elements), (Some(100), 300));
}

#[test]
fn a_list_of_large_elements_grows_at_its_items_and_not_in_an_element() {
    let make = |count| {
        let mut heap = Heap::default();
        let object = list(&mut heap, BASE, count, 100_000);
        heap.name(0, 7, object);
        heap
    };
    for (from, to) in [(3, 4), (1, 3), (0, 3), (10, 30)] {
        let (later, points) = between(make, from, to);
        assert_eq!(nodes(&points), [later.block(BASE + 0x100)], "from {from} to {to}");
    }
}

#[test]
fn what_stays_as_it_is_has_no_point() {
    let make = |_| {
        let mut heap = Heap::default();
        let object = list(&mut heap, BASE, 50, 320);
        heap.name(0, 7, object);
        heap
    };
    assert_eq!(between(make, 1, 2).1, []);
}

/// A table with lists in it, of which some grow.
fn table(counts: &[u64]) -> Heap {
    let mut heap = Heap::default();
    let dict = heap.block(BASE, 64, CLASSES + 2);
    let keys = heap.block(BASE + 0x100, 16 + 8 * counts.len() as u64, 3);
    heap.name(0, 1, dict);
    heap.point(dict, keys);
    for (number, &count) in (1..).zip(counts) {
        let object = list(&mut heap, BASE + (number << 24), count, 320);
        heap.point(keys, object);
    }
    heap
}

#[test]
fn of_several_lists_in_a_dict_those_that_grow_are_reported() {
    let make = |more| table(&[50, 40 + 2 * more, 60, 10 + more, 70]);
    let (later, points) = between(make, 0, 20);
    assert_eq!(
        nodes(&points),
        [later.block(BASE + (2 << 24) + 0x100), later.block(BASE + (4 << 24) + 0x100)]
    );
}

#[test]
fn of_many_lists_that_grow_alike_the_dict_is_reported() {
    let make = |more| table(&[20 + more; 30]);
    let (later, points) = between(make, 0, 5);
    assert_eq!(nodes(&points), [later.block(BASE + 0x100)]);
}

/// A list of nodes from one site, with something large beside it that stays.
fn linked(count: u64, is_circular: bool, grows_in_front: bool) -> Heap {
    let mut heap = Heap::default();
    let other = heap.block(BASE - 0x10_0000, 50_000, 9);
    heap.name(0, 1, other);
    let holder = heap.block(BASE, 32, 4);
    heap.name(0, 2, holder);
    let position = |number: u64| if grows_in_front { 1_000_000 - number } else { number };
    let nodes: Vec<u64> =
        (0..count).map(|number| heap.block(BASE + 0x100 + position(number) * 96, 64, 5)).collect();
    let order: Vec<u64> = if grows_in_front { nodes.into_iter().rev().collect() } else { nodes };
    heap.point(holder, order[0]);
    for pair in order.windows(2) {
        heap.point(pair[0], pair[1]);
        if is_circular {
            heap.point(pair[1], pair[0]);
        }
    }
    if is_circular {
        heap.point(holder, *order.last().unwrap());
    }
    heap
}

#[test]
fn a_linked_list_is_called_by_what_holds_its_first_node() {
    for (is_circular, grows_in_front) in [(false, false), (false, true), (true, false), (true, true)] {
        let (later, points) = between(|count| linked(count, is_circular, grows_in_front), 200, 600);
        assert_eq!(nodes(&points), [later.block(BASE)], "{is_circular} {grows_in_front}");
        assert_eq!(points[0].gained.get(), 400 * 64);
    }
}

#[test]
fn a_linked_list_of_a_million_nodes_does_not_crowd_out_the_rest() {
    let earlier = Taken::at(&linked(60_000, false, false));
    let block = earlier.block(BASE - 0x10_0000);
    assert!(earlier.summary.nodes.iter().any(|kept| kept.node == block));
    assert!(earlier.summary.nodes.len() < 10);
}

/// A list of Python's own objects: between two nodes lies what keeps their attributes.
fn linked_objects(count: u64) -> Heap {
    let mut heap = Heap::default();
    let holder = heap.block(BASE, 32, CLASSES + 3);
    heap.name(0, 2, holder);
    let mut before = holder;
    for number in 0..count {
        let node = heap.block(BASE + 0x1000 + number * 256, 48, CLASSES + 4);
        let values = heap.block(BASE + 0x1000 + number * 256 + 64, 80, CLASSES + 5);
        heap.point(before, node);
        heap.point(node, values);
        before = values;
    }
    heap
}

#[test]
fn a_list_of_objects_with_attributes_is_one_container() {
    let (later, points) = between(linked_objects, 50, 150);
    assert_eq!(nodes(&points), [later.block(BASE)]);
    assert_eq!(points[0].gained.get(), 100 * 128);
}

#[test]
fn dicts_in_dicts_are_no_list() {
    let make = |count| {
        let mut heap = Heap::default();
        let mut holder = heap.block(BASE, 64, CLASSES + 2);
        heap.name(0, 1, holder);
        for depth in 1..5 {
            let inner = heap.block(BASE + depth * 0x1000, 64, CLASSES + 2);
            heap.point(holder, inner);
            holder = inner;
        }
        let items = heap.block(BASE + 0x8000, 8 + 64 * count, CLASSES + 6);
        heap.point(holder, items);
        heap
    };
    let (later, points) = between(make, 100, 200);
    assert_eq!(nodes(&points), [later.block(BASE + 0x8000)]);
}

/// A tree as `std::map` makes it: the header points to the root, the first and the last node, and every node to its parent.
fn map(count: u64, has_header: bool) -> Heap {
    let mut heap = Heap::default();
    let header = heap.block(BASE, 48, 6);
    heap.name(0, 3, header);
    let address = |node: u64| BASE + 0x1000 + node * 96;
    (1..=count).for_each(|node| {
        heap.block(address(node), 72, 7);
    });
    heap.point(header, address(1));
    for node in 1..=count {
        for child in [2 * node, 2 * node + 1].into_iter().filter(|child| *child <= count) {
            heap.point(address(node), address(child));
            if has_header {
                heap.point(address(child), address(node));
            }
        }
    }
    if has_header {
        let first = (0..).map(|power| 1 << power).take_while(|node| *node <= count).last().unwrap();
        let last = (1..).map(|power| (1 << power) - 1).take_while(|node| *node <= count).last().unwrap();
        heap.point(header, address(first));
        heap.point(header, address(last));
    }
    heap
}

#[test]
fn a_tree_is_called_by_what_holds_its_root() {
    for has_header in [false, true] {
        for (from, to) in [(20, 60), (500, 1500), (1000, 1100)] {
            let (later, points) = between(|count| map(count, has_header), from, to);
            assert_eq!(nodes(&points), [later.block(BASE)], "{from} to {to}, {has_header}");
        }
    }
}

#[test]
fn a_buffer_that_moves_when_it_grows_is_the_same() {
    let make = |count: u64| {
        let mut heap = Heap::default();
        let owner = heap.block(BASE, 48, 1);
        heap.name(0, 5, owner);
        let buffer = heap.block(BASE + 0x1000 * count, 800 * count, 2);
        heap.point(owner, buffer);
        heap
    };
    let (later, points) = between(make, 10, 20);
    assert_eq!(nodes(&points), [later.block(BASE + 0x1000 * 20)]);
    assert_eq!(points[0].before.map(|amount| amount.bytes.get()), Some(8000));
}

#[test]
fn a_container_that_was_too_small_to_be_kept_is_followed() {
    let make = |count| {
        let mut heap = Heap::default();
        let dict = heap.block(BASE, 64, CLASSES + 2);
        heap.name(0, 1, dict);
        if count > 0 {
            let object = list(&mut heap, BASE + 0x1000, count, 320);
            heap.point(dict, object);
        }
        heap
    };
    let (later, points) = between(make, 0, 50);
    assert_eq!(nodes(&points), [later.block(BASE + 0x1100)]);
    assert_eq!(points[0].before, None);
}

#[test]
fn what_grows_is_reported_beside_what_shrinks_more() {
    let make = |more| table(&[1000 - 40 * more, 40 + more, 60]);
    let (later, points) = between(make, 0, 20);
    assert_eq!(nodes(&points), [later.block(BASE + (2 << 24) + 0x100)]);
    assert_eq!(points[0].gained.get(), 20 * 328);
}

#[test]
fn the_largest_of_one_snapshot_are_its_lists() {
    let later = Taken::at(&table(&[200, 10, 300]));
    let points = largest(&later.summary, 8);
    assert_eq!(
        nodes(&points),
        [later.block(BASE + (3 << 24) + 0x100), later.block(BASE + (1 << 24) + 0x100)]
    );
    assert_eq!(points[0].before, None);
}
