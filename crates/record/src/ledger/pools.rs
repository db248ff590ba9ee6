//! Python's arenas of small objects, divided by the headers of their pools into objects and the rest.
//!
//! ```text
//!   arena   256 KiB of pools of 4 KiB up to 3.9 │ 1 MiB of pools of 16 KiB since 3.10; pools are aligned to their size
//!   pool    blocks in use u64 (32 bits count) │ free block │ next pool │ pool before │ arena u32 │ class u32 │ next offset u32
//!           │ last offset u32 │ blocks of (class + 1) × 16 bytes …
//! ```

use heaplens_format::recording::Interpreter;
use heaplens_format::{Addr, Pid};

use super::pages::PAGE;
use crate::memory;

const HEADER: usize = 48;
const ALIGNMENT: u64 = 16;
/// Objects beyond 512 bytes come from `malloc`.
const CLASSES: u64 = 512 / ALIGNMENT;

/// How an interpreter lays its arenas out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Bytes of an arena.
    pub(super) arena: u64,
    /// Bytes of a pool, which is aligned to them.
    pub(super) pool: u64,
}

impl Layout {
    /// Of an interpreter; `None` where it has no such arenas.
    pub(super) fn of(python: Interpreter) -> Option<Self> {
        match (python.major, python.minor) {
            (3, 8..=9) => Some(Self { arena: 256 << 10, pool: 4 << 10 }),
            (3, 10..=14) => Some(Self { arena: 1 << 20, pool: 16 << 10 }),
            _ => None,
        }
    }

    /// Whether Python's first pool lies at the beginning of a mapping.
    pub(super) fn begins_at(self, process: Pid, start: u64) -> bool {
        let mut header = [0; HEADER];
        let first = start.next_multiple_of(self.pool);
        memory::read(process, Addr::new(first), &mut header) == HEADER && self.used(&header).is_some()
    }

    /// Bytes of objects in an arena. `resident` tells of a page whether it is there: others are not touched.
    pub(super) fn objects(self, process: Pid, start: u64, resident: impl Fn(u64) -> bool) -> u64 {
        let first = start.next_multiple_of(self.pool);
        let pools: Vec<u64> = (first..)
            .step_by(self.pool as usize)
            .take_while(|pool| pool + self.pool <= start + self.arena)
            .filter(|&pool| resident(pool))
            .collect();
        let mut headers = vec![0; pools.len() * HEADER];
        memory::read_scattered(process, &pools, HEADER, &mut headers);
        let in_pool = |(&pool, header): (&u64, &[u8; HEADER])| {
            let pages =
                (pool..pool + self.pool).step_by(PAGE as usize).filter(|&page| resident(page)).count();
            self.used(header).unwrap_or(0).min(pages as u64 * PAGE)
        };
        pools.iter().zip(headers.as_chunks::<HEADER>().0).map(in_pool).sum()
    }

    /// Bytes of the objects in a pool, by its header; `None` when it is none.
    fn used(self, header: &[u8; HEADER]) -> Option<u64> {
        let field = |at: usize| {
            header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
        };
        let (count, class, last) = (u64::from(field(0)), u64::from(field(36)), u64::from(field(44)));
        let size = (class + 1) * ALIGNMENT;
        let is_sound =
            class < CLASSES && last == self.pool - size && count <= (self.pool - HEADER as u64) / size;
        is_sound.then_some(count * size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::recording::Reading;

    fn layout(minor: u8) -> Option<Layout> {
        Layout::of(Interpreter { reading: Reading::Frames, major: 3, minor })
    }

    fn header(count: u32, class: u32, last: u32) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&count.to_le_bytes());
        header[36..40].copy_from_slice(&class.to_le_bytes());
        header[44..].copy_from_slice(&last.to_le_bytes());
        header
    }

    #[test]
    fn a_pool_says_how_much_of_it_is_in_use() {
        let new = layout(11).unwrap();
        assert_eq!(new.used(&header(100, 3, 16384 - 64)), Some(6400));
        assert_eq!(new.used(&header(0, 3, 16384 - 64)), Some(0));
        assert_eq!(layout(9).unwrap().used(&header(7, 31, 4096 - 512)), Some(3584));
    }

    #[test]
    fn what_is_no_pool_has_no_objects() {
        let new = layout(11).unwrap();
        assert_eq!(new.used(&header(0, 0, 0)), None);
        assert_eq!(new.used(&header(1, 32, 16384 - 528)), None);
        assert_eq!(new.used(&header(400, 3, 16384 - 64)), None);
        assert_eq!(layout(15), None);
    }
}
