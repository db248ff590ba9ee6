//! The block table: several threads in one granule, the birth of directories, cells and the filter of sampled runs.

use heaplens_format::arena::Family;
use heaplens_format::{Addr, Bytes, SiteId};
use heaplens_tracker::tables::blocks::{Block, Enclosing};

use crate::schedules::{in_all, in_many, part, together};
use crate::tables::{Tables, slot};

/// Slots of one granule.
const FIRST: u64 = 0;
const SECOND: u64 = 1;
const THIRD: u64 = 2;
/// Of another granule in the same leaf.
const ELSEWHERE: u64 = 400;

fn block(number: u64) -> Block {
    Block { site: SiteId::new(number as u32 + 1), size: Bytes::new(number + 8), family: Family::New }
}

/// Two blocks may share a granule; there is a leaf, and a page of cells.
fn shared(tables: &Tables) {
    tables.wipe();
    tables.blocks.reset(true, false);
    put(tables, ELSEWHERE);
    put(tables, ELSEWHERE + 1);
}

fn put(tables: &Tables, number: u64) {
    assert_eq!(tables.blocks.insert(&tables.arena, slot(number), block(number)), Ok(None));
}

fn take(tables: &Tables, number: u64) {
    assert_eq!(tables.blocks.remove(&tables.arena, slot(number)), Some(block(number)));
}

fn assert_found(tables: &Tables, numbers: &[u64]) {
    for number in [FIRST, SECOND, THIRD, ELSEWHERE] {
        let expected = numbers.contains(&number).then(|| block(number));
        assert_eq!(tables.blocks.find(&tables.arena, slot(number)), expected, "slot {number}");
    }
}

#[test]
fn two_blocks_that_come_to_an_empty_granule_at_once_are_both_there() {
    let tables = Tables::new();
    in_all(100_000, move || {
        shared(tables);
        together([part(|| put(tables, FIRST)), part(|| put(tables, SECOND))]);
        assert_found(tables, &[FIRST, SECOND, ELSEWHERE]);
    });
}

#[test]
fn a_block_that_is_removed_while_a_neighbour_splits_the_granule_is_gone() {
    let tables = Tables::new();
    in_all(100_000, move || {
        shared(tables);
        put(tables, FIRST);
        together([part(|| take(tables, FIRST)), part(|| put(tables, SECOND))]);
        assert_found(tables, &[SECOND, ELSEWHERE]);
    });
}

#[test]
fn a_block_that_two_threads_remove_is_removed_once() {
    let tables = Tables::new();
    for neighbour in [None, Some(SECOND)] {
        in_all(100_000, move || {
            shared(tables);
            put(tables, FIRST);
            neighbour.into_iter().for_each(|number| put(tables, number));
            let remove = || tables.blocks.remove(&tables.arena, slot(FIRST));
            let removed = together([part(remove), part(remove)]);
            assert_eq!(removed.iter().flatten().collect::<Vec<_>>(), [&block(FIRST)]);
        });
    }
}

#[test]
fn three_threads_that_come_and_go_in_one_granule_find_their_own_blocks() {
    let tables = Tables::new();
    in_many(5_000, move || {
        shared(tables);
        let come_and_go = |number| {
            part(move || {
                put(tables, number);
                take(tables, number);
                put(tables, number);
            })
        };
        together([FIRST, SECOND, THIRD].map(come_and_go));
        assert_found(tables, &[FIRST, SECOND, THIRD, ELSEWHERE]);
    });
}

#[test]
fn blocks_that_are_the_first_ones_of_their_gibibyte_share_a_directory_and_a_leaf() {
    let tables = Tables::new();
    in_many(3_000, move || {
        tables.wipe();
        tables.blocks.reset(false, false);
        together([FIRST, ELSEWHERE].map(|number| part(move || put(tables, number))));
        assert_found(tables, &[FIRST, ELSEWHERE]);
    });
}

#[test]
fn blocks_too_large_for_a_word_get_a_cell_each() {
    let tables = Tables::new();
    let huge = |number: u64| Block { size: Bytes::new((1 << 32) + number), ..block(number) };
    let addr = |number: u64| slot(number * 4);
    in_many(5_000, move || {
        tables.wipe();
        tables.blocks.reset(false, false);
        put(tables, ELSEWHERE);
        let insert = |number| {
            part(move || {
                assert_eq!(tables.blocks.insert(&tables.arena, addr(number), huge(number)), Ok(None));
            })
        };
        together([0, 1, 2].map(insert));
        for number in 0..3 {
            assert_eq!(tables.blocks.remove(&tables.arena, addr(number)), Some(huge(number)));
        }
    });
}

#[test]
fn the_filter_of_a_sampled_run_counts_every_block_that_has_its_hash() {
    let tables = Tables::new();
    let [first, second, hidden] = same_hash(tables);
    let come_and_go = move |addr: Addr| {
        assert_eq!(tables.blocks.insert(&tables.arena, addr, block(0)), Ok(None));
        assert_eq!(tables.blocks.remove(&tables.arena, addr), Some(block(0)));
    };
    tables.wipe();
    tables.blocks.reset(false, false);
    [first, second].into_iter().for_each(come_and_go); // so that there are leaves
    assert_eq!(tables.blocks.insert(&tables.arena, hidden, block(0)), Ok(None));
    tables.blocks.reset(false, true); // from here on blocks are counted
    in_many(3_000, move || {
        together([first, second].map(|addr| part(move || come_and_go(addr))));
        assert_eq!(tables.blocks.remove(&tables.arena, hidden), None, "the counter is not back at zero");
    });
}

/// Three addresses that the filter does not tell apart.
fn same_hash(tables: &Tables) -> [Addr; 3] {
    tables.wipe();
    let candidates: Vec<Addr> = (1..400_000).map(|number| slot(number * 4)).collect();
    tables.blocks.reset(false, false);
    for &addr in &candidates {
        assert_eq!(tables.blocks.insert(&tables.arena, addr, block(0)), Ok(None));
    }
    tables.blocks.reset(false, true);
    // Of the candidates, which were not counted, those are seen whose hash is counted now.
    let mut unseen = candidates.into_iter();
    let mut next_like = |counted: Addr| {
        assert_eq!(tables.blocks.insert(&tables.arena, counted, block(0)), Ok(None));
        unseen.find(|&addr| tables.blocks.remove(&tables.arena, addr).is_some()).expect("one of six")
    };
    let second = next_like(slot(0));
    [slot(0), second, next_like(second)]
}

/// Blocks of glibc, each alone in its granule: what they were stays when they are freed.
fn alone(tables: &Tables) {
    tables.wipe();
    tables.blocks.reset(false, false);
    put(tables, ELSEWHERE); // so that there is a leaf
}

#[test]
fn a_block_that_takes_the_place_of_a_freed_one_is_there_whoever_asks_what_was_freed() {
    let tables = Tables::new();
    in_all(100_000, move || {
        alone(tables);
        put(tables, FIRST);
        take(tables, FIRST);
        let asked = together([
            part(|| {
                put(tables, FIRST);
                None
            }),
            part(|| tables.blocks.freed(&tables.arena, slot(FIRST))),
        ]);
        assert!(asked[1].is_none_or(|freed| freed == block(FIRST)), "{asked:?}");
        assert_found(tables, &[FIRST, ELSEWHERE]);
    });
}

#[test]
fn a_block_that_comes_while_an_unseen_one_is_forgotten_is_not_forgotten() {
    let tables = Tables::new();
    in_all(100_000, move || {
        alone(tables);
        put(tables, FIRST);
        take(tables, FIRST);
        together([
            part(|| put(tables, FIRST)),
            part(|| tables.blocks.forget_freed(&tables.arena, slot(FIRST))),
        ]);
        assert_found(tables, &[FIRST, ELSEWHERE]);
        take(tables, FIRST);
        assert_eq!(tables.blocks.freed(&tables.arena, slot(FIRST)), Some(block(FIRST)));
    });
}

#[test]
fn a_block_whose_neighbours_come_and_go_is_the_one_around_its_bytes() {
    let tables = Tables::new();
    let wide = Block { size: Bytes::new(400), ..block(FIRST) };
    in_many(5_000, move || {
        alone(tables);
        put(tables, 8);
        take(tables, 8);
        assert_eq!(tables.blocks.insert(&tables.arena, slot(FIRST), wide), Ok(None));
        let found = together([
            part(|| tables.blocks.around(&tables.arena, slot(8), 1000)),
            part(|| {
                put(tables, ELSEWHERE + 4);
                take(tables, ELSEWHERE + 4);
                Enclosing::Nothing
            }),
        ]);
        assert_eq!(found[0], Enclosing::Block(slot(FIRST), wide));
    });
}
