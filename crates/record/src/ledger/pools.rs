//! Python's arenas of small objects, divided by the headers of their pools into objects and the rest.

use heaplens_cpython::Version;
use heaplens_cpython::layout::Pools;
use heaplens_cpython::pools::HEADER;
use heaplens_format::recording::Interpreter;
use heaplens_format::{Addr, Bytes, Pid};

use crate::address_space::PAGE;
use crate::os::memory;

/// How an interpreter lays its arenas out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) sizes: Pools,
}

impl Layout {
    /// Of an interpreter; `None` where it has no such arenas.
    pub(super) fn of(python: Interpreter) -> Option<Self> {
        Pools::of(Version::new(python.major, python.minor)).map(|sizes| Self { sizes })
    }

    /// Whether Python's first pool lies at the beginning of a mapping.
    pub(super) fn begins_at(self, process: Pid, start: Addr) -> bool {
        let mut header = [0; HEADER];
        memory::read(process, self.first_pool(start), &mut header) == HEADER
            && self.sizes.header(&header).is_some()
    }

    /// The first pool of an arena, which is aligned to its size.
    pub(super) fn first_pool(self, arena: Addr) -> Addr {
        Addr::new(arena.get().next_multiple_of(self.sizes.pool))
    }

    /// Bytes of objects in an arena. Pages that are not resident are not touched.
    pub(super) fn objects(self, process: Pid, start: Addr, is_resident: impl Fn(Addr) -> bool) -> Bytes {
        let Pools { arena, pool: pool_size } = self.sizes;
        let pools: Vec<Addr> = (self.first_pool(start).get()..)
            .step_by(pool_size as usize)
            .take_while(|pool| pool + pool_size <= start.get() + arena)
            .map(Addr::new)
            .filter(|&pool| is_resident(pool))
            .collect();
        let mut headers = vec![0; pools.len() * HEADER];
        memory::read_scattered(process, &pools, HEADER, &mut headers);
        let in_pool = |(pool, header): (&Addr, &[u8; HEADER])| {
            let pages = (pool.get()..pool.get() + pool_size).step_by(PAGE as usize).map(Addr::new);
            let pages = pages.filter(|&page| is_resident(page)).count();
            let used = self.sizes.header(header).map_or(0, |header| header.used());
            Bytes::new(used.min(pages as u64 * PAGE))
        };
        pools.iter().zip(headers.as_chunks::<HEADER>().0).map(in_pool).sum()
    }
}
