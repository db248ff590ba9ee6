//! The trie: paths that threads look up and insert while the index grows, and the site of a node.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::NodeId;
use heaplens_tracker::tables::slot_id::SlotId;
use heaplens_tracker::tables::trie::{ROOT_HASH, extend_hash};

use crate::schedules::{in_all, in_many, part, together};
use crate::tables::Tables;

const ROOT: NodeId = NodeId::new(0);

fn empty(tables: &Tables) {
    tables.wipe();
    assert!(tables.trie.reset(&tables.arena));
}

/// What an event does with one frame.
fn extend(tables: &Tables, parent: NodeId, callers: u64, frame: u64) -> (NodeId, u64) {
    let hash = extend_hash(callers, frame);
    let known = tables.trie.find(&tables.arena, hash);
    let node = known.or_else(|| tables.trie.insert(&tables.arena, parent, frame, hash));
    (node.expect("the arena is not full"), hash)
}

/// The node of a stack, given outermost frame first, after a check that this is its path.
fn walk(tables: &Tables, frames: &[u64]) -> NodeId {
    let step = |(node, hash), &frame: &u64| extend(tables, node, hash, frame);
    let node = frames.iter().fold((ROOT, ROOT_HASH), step).0;
    assert_eq!(path(tables, node), frames);
    node
}

/// The frames of a node, outermost first.
fn path(tables: &Tables, mut node: NodeId) -> Vec<u64> {
    let mut frames = Vec::new();
    while node != ROOT {
        let record = tables.node(node);
        frames.push(record.frame.load(Relaxed));
        node = NodeId::new(record.parent.load(Relaxed));
    }
    frames.reverse();
    frames
}

fn find(tables: &Tables, frames: &[u64]) -> Option<NodeId> {
    let hash = frames.iter().fold(ROOT_HASH, |hash, &frame| extend_hash(hash, frame));
    tables.trie.find(&tables.arena, hash)
}

#[test]
fn two_threads_that_insert_one_path_get_a_node_of_that_path() {
    let tables = Tables::new();
    in_many(3_000, move || {
        empty(tables);
        let nodes = together([(); 2].map(|()| part(|| walk(tables, &[7]))));
        let found = find(tables, &[7]).expect("a path that was inserted is found");
        assert!(nodes.contains(&found));
    });
}

/// As many as the first index takes before it grows. The hashes of 1, 21 and 41 lead to the same slot of it.
#[test]
fn paths_that_come_to_one_slot_at_once_are_all_found() {
    let tables = Tables::new();
    in_many(2_000, move || {
        empty(tables);
        let frames = [1, 21, 41];
        let nodes = together(frames.map(|frame| part(move || walk(tables, &[frame]))));
        assert_eq!(frames.map(|frame| find(tables, &[frame])), nodes.map(Some));
    });
}

#[test]
fn paths_inserted_while_the_index_grows_are_never_mistaken_for_others() {
    let tables = Tables::new();
    // A common trunk, then branches of each thread's own: 24 nodes, three times the slots of the first index.
    let stacks = |lane: u64| (0..5).map(move |leaf| [1, 2, 10 + lane, 100 + leaf]);
    in_many(2_000, move || {
        empty(tables);
        let grow = |lane| part(move || stacks(lane).map(|frames| walk(tables, &frames)).collect::<Vec<_>>());
        let nodes = together([0, 1, 2].map(grow));
        for (lane, nodes) in (0..).zip(nodes) {
            for (frames, node) in stacks(lane).zip(nodes) {
                assert_eq!(path(tables, node), frames);
                let known = walk(tables, &frames);
                assert_eq!(find(tables, &frames), Some(known));
            }
        }
        assert_eq!(find(tables, &[1, 2, 99]), None);
    });
}

#[test]
fn a_thread_that_takes_long_to_make_room_leaves_free_slots_for_a_search_to_end_at() {
    let tables = Tables::new();
    in_many(1_000, move || {
        empty(tables);
        let insert = |frames: std::ops::Range<u64>| {
            part(move || frames.map(|frame| walk(tables, &[frame])).collect::<Vec<_>>())
        };
        together([insert(0..5), insert(100..140)]);
        assert_eq!(find(tables, &[99]), None);
    });
}

#[test]
fn a_node_has_one_site_whoever_allocates_first() {
    let tables = Tables::new();
    in_all(200_000, move || {
        empty(tables);
        let node = walk(tables, &[7]);
        let site = |slot| part(move || tables.trie.site(&tables.arena, node, SlotId::new(slot)));
        let [first, second] = together([1, 2].map(site));
        assert!(first.is_some_and(|site| site.get() != 0));
        assert_eq!(first, second);
    });
}
