//! Code objects whose end is noticed, so that what was read of one need not be read again with every event.
//!
//! A frame has the address of its code, and the address of a code object that died is taken by another one. Before Python 3.12
//! nothing sets the two apart but what their names, files and line tables say, which lies in half a dozen lines of the
//! caches. But Python frees code objects by way of our allocator. Until it frees one that is watched, an address means what
//! it meant when it was first read:
//!
//! ```text
//!   frame ─▶ code ─▶ read in this generation? ──yes──▶ what was read
//!                          │ no                                            free of a watched one ─▶ next generation
//!                          ▼
//!                    watch it, read it
//! ```

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::Addr;

use super::addresses::Addresses;
use crate::tables::filter::Filter;

/// Buckets for code objects; when one overflows, the generation ends.
const BUCKETS: usize = 1 << 11;

/// Code objects that are watched. Threads of several interpreters may change it at once: each word stands for itself.
#[derive(Debug)]
pub struct WatchedCodes {
    /// 0 while the end of objects is not noticed.
    generation: AtomicU64,
    codes: Addresses<BUCKETS>,
}

impl WatchedCodes {
    /// Nothing is noticed yet.
    pub const fn new() -> Self {
        Self { generation: AtomicU64::new(0), codes: Addresses::new() }
    }

    /// From now on the end of every object is noticed.
    pub fn begin(&self) {
        self.generation.fetch_max(1, Relaxed);
    }

    /// The generation; 0 while the end of objects is not noticed. A thread that may meet a code object at the address of one that
    /// died has waited for the interpreter's lock since then, and sees the later number.
    #[inline(always)]
    pub fn generation(&self) -> u64 {
        self.generation.load(Relaxed)
    }

    /// Watches a code object, which the caller keeps alive. Whatever is watched is in the filter.
    pub fn watch(&self, code: u64, filter: &Filter) {
        if self.codes.insert(Addr::new(code), filter).is_some() {
            self.generation.fetch_add(1, Relaxed);
        }
    }

    /// An object ends, which may be watched.
    pub fn on_end(&self, addr: Addr, filter: &Filter) {
        if self.codes.remove(addr, filter) {
            self.generation.fetch_add(1, Relaxed);
        }
    }

    /// Watches nothing any more; the answer is whether it did.
    pub fn forget(&self) -> bool {
        if self.generation() == 0 {
            return false;
        }
        self.generation.fetch_add(1, Relaxed);
        self.codes.clear()
    }
}

impl Default for WatchedCodes {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn the_end_of_what_is_watched_ends_the_generation_and_no_other_does() {
        let (watched, filter) = (WatchedCodes::new(), Filter::new());
        watched.begin();
        watched.watch(0x1000, &filter);
        let first = watched.generation();
        watched.on_end(Addr::new(0x2000), &filter);
        assert_eq!(watched.generation(), first);
        assert!(filter.may_hold(Addr::new(0x1000)));
        watched.on_end(Addr::new(0x1000), &filter);
        assert_ne!(watched.generation(), first);
        assert!(!filter.may_hold(Addr::new(0x1000)));
    }

    proptest! {
        /// The naive model reads every time. Many addresses in few buckets: what is driven out must not be believed, either.
        #[test]
        fn what_was_read_of_an_address_is_what_is_there(events in prop::collection::vec((0u64..12, any::<bool>()), 1..200)) {
            let (watched, filter) = (WatchedCodes::new(), Filter::new());
            watched.begin();
            let addresses: std::vec::Vec<u64> = watched.codes.in_one_bucket().take(12).collect();
            let (mut lives, mut read) = ([0u64; 12], HashMap::new());
            for (number, (which, ends)) in events.into_iter().enumerate() {
                let (at, address) = (which as usize, addresses[which as usize]);
                if ends {
                    // As the allocator does: what the filter lacks is not searched for.
                    if filter.may_hold(Addr::new(address)) {
                        watched.on_end(Addr::new(address), &filter);
                    }
                    lives[at] = number as u64 + 1;
                    continue;
                }
                let known = read.get(&address).filter(|&&(generation, _)| generation == watched.generation());
                let read = match known {
                    Some(&(_, life)) => life,
                    None => {
                        let generation = watched.generation();
                        watched.watch(address, &filter);
                        read.insert(address, (generation, lives[at]));
                        lives[at]
                    }
                };
                prop_assert_eq!(read, lives[at]);
            }
        }
    }
}
