//! The table of mappings: a sequence lock that several threads want.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::table::MappingRecord;
use heaplens_format::arena::{MAPPING_SIZE, Region};
use heaplens_format::{Addr, Bytes, Loss, NodeId, SiteId};
use heaplens_tracker::tables::mappings::{on_map, on_unmap, site_of};
use heaplens_tracker::tables::sites;
use heaplens_tracker::tables::slot_id::SlotId;

use crate::schedules::{in_many, part, together};
use crate::tables::Tables;

const PAGE: u64 = 4096;

fn map(tables: &Tables, first: u64, count: u64, site: SiteId) {
    on_map(&tables.arena, SlotId::NONE, Addr::new(first * PAGE), Bytes::new(count * PAGE), site);
}

fn unmap(tables: &Tables, first: u64, count: u64) {
    on_unmap(&tables.arena, SlotId::NONE, Addr::new(first * PAGE), Bytes::new(count * PAGE));
}

fn table(tables: &Tables) -> Vec<(u64, u64)> {
    let count = tables.arena.header().mappings.load(Relaxed) as usize;
    let record = |index: usize| -> &MappingRecord {
        // SAFETY: the table says that it has so many records.
        unsafe { tables.arena.record(Region::Mappings, index * MAPPING_SIZE) }
    };
    (0..count)
        .map(record)
        .map(|mapping| (mapping.start.load(Relaxed) / PAGE, mapping.end.load(Relaxed) / PAGE))
        .collect()
}

#[test]
fn threads_that_map_and_unmap_at_once_leave_what_each_of_them_left() {
    let tables = Tables::new();
    in_many(1_000, move || {
        tables.wipe();
        let site = sites::create(&tables.arena, NodeId::new(1), SlotId::NONE).expect("the arena is not full");
        map(tables, 40, 10, site);
        together([
            part(move || map(tables, 10, 5, site)),
            part(move || {
                map(tables, 20, 5, site);
                unmap(tables, 21, 1);
            }),
            part(move || {
                unmap(tables, 40, 10);
                assert_eq!(site_of(&tables.arena, Addr::new(45 * PAGE)), None);
            }),
        ]);
        assert_eq!(table(tables), [(10, 15), (20, 21), (22, 25)]);
        assert_eq!(tables.arena.header().mappings_sequence.load(Relaxed) % 2, 0);
        assert_eq!(tables.losses(Loss::MappingLost), 0);
    });
}
