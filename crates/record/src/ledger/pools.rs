//! Python's arenas of small objects, divided by the headers of their pools into objects and the rest.

use heaplens_cpython::Version;
use heaplens_cpython::layout::Pools;
use heaplens_cpython::pools::HEADER;
use heaplens_format::recording::Interpreter;
use heaplens_format::{Addr, Pid};

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
    pub(super) fn begins_at(self, process: Pid, start: u64) -> bool {
        let mut header = [0; HEADER];
        let first = start.next_multiple_of(self.sizes.pool);
        memory::read(process, Addr::new(first), &mut header) == HEADER && self.sizes.header(&header).is_some()
    }

    /// Bytes of objects in an arena. `resident` tells of a page whether it is there: others are not touched.
    pub(super) fn objects(self, process: Pid, start: u64, resident: impl Fn(u64) -> bool) -> u64 {
        let Pools { arena, pool: pool_size } = self.sizes;
        let first = start.next_multiple_of(pool_size);
        let pools: Vec<u64> = (first..)
            .step_by(pool_size as usize)
            .take_while(|pool| pool + pool_size <= start + arena)
            .filter(|&pool| resident(pool))
            .collect();
        let mut headers = vec![0; pools.len() * HEADER];
        let addresses: Vec<Addr> = pools.iter().copied().map(Addr::new).collect();
        memory::read_scattered(process, &addresses, HEADER, &mut headers);
        let in_pool = |(&pool, header): (&u64, &[u8; HEADER])| {
            let pages =
                (pool..pool + pool_size).step_by(PAGE as usize).filter(|&page| resident(page)).count();
            let used = self.sizes.header(header).map_or(0, |header| header.used());
            used.min(pages as u64 * PAGE)
        };
        pools.iter().zip(headers.as_chunks::<HEADER>().0).map(in_pool).sum()
    }
}
