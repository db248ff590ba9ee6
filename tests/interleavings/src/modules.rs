//! The table of modules: threads that meet new object files at once, in an arena that replaced another.

use core::sync::atomic::AtomicU16;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::Addr;
use heaplens_format::arena::table::ModuleRecord;
use heaplens_format::arena::{MODULE_SIZE, Region};
use heaplens_tracker::modules::{Modules, range_of};

use crate::schedules::{in_many, part, together};
use crate::tables::Tables;

fn own() -> u64 {
    own as *const () as u64
}

fn libc() -> u64 {
    libc::qsort as *const () as u64
}

/// The number that the code at an address has, after a check that the record of that number is of its file.
fn find(modules: &Modules, tables: &Tables, address: u64) -> u16 {
    let number =
        modules.find(&tables.arena, Addr::new(address)).and_then(|found| found.number).expect("a module");
    let at = (usize::from(number) - 1) * MODULE_SIZE;
    // SAFETY: the table gave out the number.
    let record: &ModuleRecord = unsafe { tables.arena.record(Region::Modules, at) };
    let range = (record.start.load(Relaxed), record.end.load(Relaxed));
    assert_eq!(Some(range), range_of(address));
    number
}

#[test]
fn a_module_never_gets_the_number_of_another_one() {
    let tables = Tables::new();
    let modules: &Modules = Box::leak(Box::new(Modules::new()));
    in_many(1_000, move || {
        modules.reset();
        tables.wipe();
        find(modules, tables, libc());
        find(modules, tables, own());
        modules.reset();
        tables.wipe();
        together([own(), libc(), own()].map(|address| part(move || find(modules, tables, address))));
    });
}

#[test]
fn threads_that_meet_a_module_at_once_give_it_one_number() {
    static NUMBERS: [AtomicU16; 3] = [const { AtomicU16::new(0) }; 3];
    let tables = Tables::new();
    let modules: &Modules = Box::leak(Box::new(Modules::new()));
    in_many(1_000, move || {
        modules.reset();
        tables.wipe();
        let addresses = [(own(), 0), (libc(), 1), (own(), 2)];
        together(
            addresses.map(|(address, at)| {
                part(move || NUMBERS[at].store(find(modules, tables, address), Relaxed))
            }),
        );
        let [one, other, same] = [0, 1, 2].map(|at: usize| NUMBERS[at].load(Relaxed));
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert_eq!(find(modules, tables, own()), one, "and keep it");
    });
}
