//! The arena: ranges that threads take while the region grows.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::{PAGE, Region};

use crate::schedules::{in_many, part, together};
use crate::tables::Tables;

/// Takes bytes and checks that they exist.
fn take(tables: &Tables, region: Region, size: u64) -> (u64, u64) {
    let start = tables.arena.take(region, size).expect("there is room") as u64;
    let reserved = tables.arena.extent(region).reserved.load(Relaxed);
    assert!(start + size <= reserved, "{start} + {size} of {reserved} bytes");
    (start, start + size)
}

fn assert_apart(mut ranges: Vec<(u64, u64)>) {
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{ranges:?}");
}

#[test]
fn three_threads_that_take_again_and_again_get_different_bytes_that_exist() {
    let tables = Tables::new();
    in_many(2_000, move || {
        tables.wipe();
        tables.unreserve();
        let greedy = |size| part(move || [size, 70_000, size].map(|size| take(tables, Region::Sites, size)));
        assert_apart(together([64, 40_000, 65_536].map(greedy)).concat());
    });
}

#[test]
fn pages_are_given_to_one_thread_each() {
    let tables = Tables::new();
    in_many(1_000, move || {
        tables.wipe();
        tables.unreserve();
        let greedy = |count: u64| {
            part(move || {
                [count, 1].map(|count| {
                    let page = u64::from(tables.arena.take_pages(count).expect("there is room"));
                    assert_ne!(page, 0);
                    let reserved = tables.arena.extent(Region::Pages).reserved.load(Relaxed);
                    assert!((page + count) * PAGE as u64 <= reserved);
                    (page, page + count)
                })
            })
        };
        assert_apart(together([1, 17, 64].map(greedy)).concat());
    });
}

#[test]
fn a_region_that_two_threads_overfill_refuses_and_hands_out_nothing_beyond_its_end() {
    let tables = Tables::new();
    in_many(100, move || {
        tables.renew();
        let extent = tables.arena.extent(Region::Strings);
        let capacity = extent.capacity.load(Relaxed);
        extent.used.store(capacity - 100, Relaxed);
        extent.reserved.store(capacity - 100, Relaxed);
        let taken = together([60, 60].map(|size| part(move || tables.arena.take(Region::Strings, size))));
        let ends = taken.iter().flatten().map(|&start| start as u64 + 60);
        assert!(ends.clone().all(|end| end <= capacity));
        assert!(ends.count() <= 1);
        assert!(tables.arena.is_full());
    });
}
