//! An arena and its tables, made once per test and wiped before each schedule.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::block::split_address;
use heaplens_format::arena::table::{NodeRecord, SiteRecord};
use heaplens_format::arena::{NODE_SIZE, Region, SITE_SIZE};
use heaplens_format::{Addr, Loss, NodeId};
use heaplens_tracker::process::path::PathBuffer;
use heaplens_tracker::sys::{self, Descriptor};
use heaplens_tracker::tables::arena::Arena;
use heaplens_tracker::tables::blocks::Blocks;
use heaplens_tracker::tables::trie::Trie;

/// All blocks of the tests lie in the GiB that begins here.
pub const HEAP: u64 = 0x6000_0000_0000;

const GROWING: [Region; 6] =
    [Region::Modules, Region::Strings, Region::Mappings, Region::Sites, Region::Nodes, Region::Pages];

/// The tables of a process that does not exist.
pub struct Tables {
    pub arena: Arena,
    pub blocks: Blocks,
    pub trie: Trie,
}

impl Tables {
    /// They stay until the tests end: the threads of a scenario may not borrow.
    pub fn new() -> &'static Self {
        let tables =
            Box::leak(Box::new(Self { arena: Arena::new(), blocks: Blocks::new(), trie: Trie::new() }));
        tables.renew();
        tables
    }

    /// A fresh arena instead of the old one, with room for a scenario: only those that are about growth shall see it.
    pub fn renew(&self) {
        const ROOM: u64 = 1 << 20;
        // SAFETY: memfd_create reads the zero-terminated name.
        let file =
            unsafe { sys::syscall(libc::SYS_memfd_create, [c"test".as_ptr() as usize, 1, 0, 0, 0, 0]) };
        let file = file.expect("a file in memory can be made");
        self.arena.create(Descriptor::from_number(file as i32), PathBuffer::EMPTY).expect("an arena fits");
        assert!(GROWING.iter().all(|&region| self.arena.ensure(region, ROOM)));
    }

    /// Everything as in a fresh arena, except that what was reserved stays so.
    pub fn wipe(&self) {
        for region in GROWING {
            let extent = self.arena.extent(region);
            let written = extent.used.load(Relaxed).min(extent.reserved.load(Relaxed));
            // SAFETY: this much of the region exists, and no other thread of the scenario does now.
            unsafe { core::ptr::write_bytes(self.arena.address(region, 0) as *mut u8, 0, written as usize) };
            extent.used.store(0, Relaxed);
        }
        self.arena.top(split_address(HEAP).0).store(0, Relaxed);
        let header = self.arena.header();
        header.losses.iter().for_each(|loss| loss.store(0, Relaxed));
        header.hot.live_bytes.store(0, Relaxed);
        header.hot.moment.store(0, Relaxed);
        header.mappings.store(0, Relaxed);
        self.arena.take_pages(1).expect("page 0, which stands for none");
    }

    /// Nothing is reserved: whoever takes something must have the region grow.
    pub fn unreserve(&self) {
        GROWING.iter().for_each(|&region| self.arena.extent(region).reserved.store(0, Relaxed));
    }

    pub fn losses(&self, loss: Loss) -> u64 {
        self.arena.header().losses[loss as usize].load(Relaxed)
    }

    pub fn site(&self, number: u32) -> &SiteRecord {
        // SAFETY: the tests pass numbers that the tables gave out.
        unsafe { self.arena.record(Region::Sites, number as usize * SITE_SIZE) }
    }

    pub fn node(&self, number: NodeId) -> &NodeRecord {
        // SAFETY: as above.
        unsafe { self.arena.record(Region::Nodes, number.get() as usize * NODE_SIZE) }
    }
}

/// The address of an 8-byte slot of the heap.
pub fn slot(number: u64) -> Addr {
    Addr::new(HEAP + number * 8)
}
