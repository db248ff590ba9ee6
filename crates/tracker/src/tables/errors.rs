//! The table of memory errors: 256 records, one for each kind, stack and block's site. It is searched from its begin: programs make few
//! different errors, and what they cost does not matter.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::arena::Region;
use heaplens_format::arena::error::{ERROR_SIZE, ErrorRecord, ErrorWhat, MOST_ERRORS};
use heaplens_format::{Addr, Bytes, Loss, NodeId, SiteId};

use super::arena::Arena;
use crate::sys;

/// An error, as it is recorded.
#[derive(Clone, Copy, Debug)]
pub struct NewError {
    /// What it is.
    pub what: ErrorWhat,
    /// The stack of the call.
    pub stack: NodeId,
    /// The site of the block.
    pub site: Option<SiteId>,
    /// The stack that allocated it.
    pub allocated: Option<NodeId>,
    /// The stack that freed it first.
    pub freed: Option<NodeId>,
    /// The address that it is about.
    pub address: Addr,
    /// Bytes of the access, 0 where that is not known.
    pub access: Bytes,
    /// Where the block begins, 0 where there is none.
    pub start: Addr,
    /// Its size.
    pub size: Bytes,
    /// What else there is to say.
    pub extra: u64,
}

impl NewError {
    /// One about an address at which there is no block.
    pub fn at(what: ErrorWhat, stack: NodeId, address: Addr) -> Self {
        Self {
            what,
            stack,
            site: None,
            allocated: None,
            freed: None,
            address,
            access: Bytes::ZERO,
            start: Addr::new(0),
            size: Bytes::ZERO,
            extra: 0,
        }
    }
}

/// Counts an error, under a new record where it is not known. Two threads that make it at the same moment may make a record each.
#[cold]
pub fn record(arena: &Arena, error: &NewError) {
    let site = error.site.map_or(0, SiteId::get);
    let is_same = |known: &&ErrorRecord| {
        // Acquire: pairs with the Release below.
        known.count.load(Acquire) != 0
            && known.what.load(Relaxed) == error.what.word()
            && known.stack.load(Relaxed) == error.stack.get()
            && known.site.load(Relaxed) == site
    };
    if let Some(known) = records(arena).find(is_same) {
        known.count.fetch_add(1, Relaxed);
        return;
    }
    match take(arena) {
        Some(record) => write(record, error, site),
        None => arena.lose(Loss::ErrorLost),
    }
}

fn records(arena: &Arena) -> impl Iterator<Item = &ErrorRecord> {
    let extent = arena.extent(Region::Errors);
    // Acquire: as in `Arena::take`.
    let end = extent.used.load(Relaxed).min(extent.reserved.load(Acquire));
    (0..end as usize / ERROR_SIZE)
        // SAFETY: the record lies in what is used and reserved, and consists of atomics.
        .map(|number| unsafe { arena.record(Region::Errors, number * ERROR_SIZE) })
}

/// A record, where there is room: the region is larger than the table by what threads take at the same moment.
fn take(arena: &Arena) -> Option<&ErrorRecord> {
    if arena.extent(Region::Errors).used.load(Relaxed) >= (MOST_ERRORS * ERROR_SIZE) as u64 {
        return None;
    }
    let offset = arena.take(Region::Errors, ERROR_SIZE as u64)?;
    // SAFETY: the range was just taken, and is zero.
    Some(unsafe { arena.record(Region::Errors, offset) })
}

fn write(record: &ErrorRecord, error: &NewError, site: u32) {
    let node = |node: Option<NodeId>| node.map_or(0, NodeId::get);
    record.what.store(error.what.word(), Relaxed);
    record.stack.store(error.stack.get(), Relaxed);
    record.allocated.store(node(error.allocated), Relaxed);
    record.freed.store(node(error.freed), Relaxed);
    record.site.store(site, Relaxed);
    record.address.store(error.address.get(), Relaxed);
    record.access.store(error.access.get(), Relaxed);
    record.start.store(error.start.get(), Relaxed);
    record.size.store(error.size.get(), Relaxed);
    record.extra.store(error.extra, Relaxed);
    record.at_ns.store(sys::monotonic_ns(), Relaxed);
    // Release: a reader that sees a count sees the rest.
    record.count.store(1, Release);
}

#[cfg(test)]
mod tests {
    use heaplens_format::arena::error::{CalledFunction, ErrorKind};
    use heaplens_format::memory::Family;

    use super::*;
    use crate::tables::scratch::scratch;
    use std::vec::Vec;

    fn error(stack: u32) -> NewError {
        let what =
            ErrorWhat { kind: ErrorKind::DoubleFree, family: Family::Malloc, function: CalledFunction::FREE };
        NewError::at(what, NodeId::new(stack), Addr::new(0x5000))
    }

    fn counts(arena: &Arena) -> Vec<u64> {
        records(arena).map(|record| record.count.load(Relaxed)).collect()
    }

    #[test]
    fn an_error_that_is_made_again_is_counted_under_one_record() {
        let arena = scratch();
        (0..3).for_each(|_| record(&arena, &error(1)));
        record(&arena, &error(2));
        record(&arena, &NewError { site: Some(SiteId::new(7)), ..error(1) });
        assert_eq!(counts(&arena), [3, 1, 1]);
    }

    #[test]
    fn errors_that_find_no_room_are_a_loss_and_the_arena_grows_on() {
        let arena = scratch();
        (0..MOST_ERRORS as u32 + 5).for_each(|stack| record(&arena, &error(stack)));
        assert_eq!(counts(&arena).len(), MOST_ERRORS);
        assert_eq!(arena.header().losses[Loss::ErrorLost as usize].load(Relaxed), 5);
        assert!(!arena.is_full() && arena.take_pages(1).is_some());
    }
}
