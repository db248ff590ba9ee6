//! How many blocks may be guarded at a time. Each live one takes two mappings, of which a process has no more than `vm.max_map_count`, and
//! whole pages of memory. A quarter of the mappings is left to the program, and three quarters of the machine's memory.

use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::PAGE;

use crate::sys::{self, Descriptor};

/// What Linux allows where nobody changed it.
const USUAL_MAPS: usize = 65_530;

/// The limits of this process.
#[derive(Debug)]
pub(super) struct Limits {
    blocks: AtomicUsize,
    pages: AtomicUsize,
}

impl Limits {
    pub(super) const fn new() -> Self {
        Self { blocks: AtomicUsize::new(0), pages: AtomicUsize::new(0) }
    }

    /// Asks the system.
    pub(super) fn read(&self) {
        self.set(most_maps() / 4 * 3 / 2, (sys::memory_of_machine() / 4) as usize / PAGE);
    }

    pub(super) fn set(&self, blocks: usize, pages: usize) {
        self.blocks.store(blocks, Relaxed);
        self.pages.store(pages, Relaxed);
    }

    /// The most live blocks.
    pub(super) fn blocks(&self) -> usize {
        self.blocks.load(Relaxed)
    }

    /// The most pages of live blocks.
    pub(super) fn pages(&self) -> usize {
        self.pages.load(Relaxed)
    }
}

fn most_maps() -> usize {
    let mut buffer = [0; 32];
    let file = Descriptor::open(c"/proc/sys/vm/max_map_count", libc::O_RDONLY, 0).ok();
    let text: &[u8] = file.as_ref().map_or(&[], |file| file.read(&mut buffer));
    sys::parse_decimal(text.trim_ascii()).map_or(USUAL_MAPS, |count| count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_how_many_blocks_may_be_guarded() {
        let limits = Limits::new();
        limits.read();
        assert!(limits.blocks() > 1000 && limits.pages() > 1000);
    }
}
