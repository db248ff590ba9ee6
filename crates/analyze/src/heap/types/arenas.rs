//! Memory out of which Python cuts its small objects.

use heaplens_cpython::pools::LARGEST_SMALL;
use heaplens_format::Addr;
use heaplens_snapshot::{Block, Span};

/// Memory out of which Python cuts its small objects, in the order of addresses.
#[derive(Debug, Default)]
pub(crate) struct Arenas(Vec<Span>);

impl Arenas {
    pub(crate) fn new(mut ranges: Vec<Span>) -> Self {
        ranges.sort_unstable();
        Self(ranges)
    }

    pub(crate) fn contains(&self, address: Addr) -> bool {
        let after = self.0.partition_point(|span| span.start <= address);
        after > 0 && address < self.0[after - 1].end
    }

    /// Whether there are none: small objects are blocks of `malloc`.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object of Python's may be in a block: small ones lie in arenas, where there are any.
    pub(crate) fn may_hold(&self, block: Block) -> bool {
        block.size.get() > LARGEST_SMALL || self.0.is_empty() || self.contains(block.address)
    }
}

#[cfg(test)]
mod tests {
    use heaplens_format::Bytes;

    use super::*;

    #[test]
    fn small_objects_lie_in_arenas_where_there_are_any() {
        let span = |start, end| Span::new(Addr::new(start), Addr::new(end));
        let block = |at, size| Block { address: Addr::new(at), size: Bytes::new(size), site: 1 };
        let arenas = Arenas::new(vec![span(0x9000, 0xa000), span(0x1000, 0x2000)]);
        assert!([0x1000, 0x9fff].iter().all(|&at| arenas.contains(Addr::new(at))));
        assert!([0x2000, 0x500, 0xa000].iter().all(|&at| !arenas.contains(Addr::new(at))));
        assert!(arenas.may_hold(block(0x1800, 64)) && arenas.may_hold(block(0x5000, 4096)));
        assert!(!arenas.may_hold(block(0x5000, 64)), "malloc's");
        assert!(Arenas::default().may_hold(block(0x5000, 64)), "PYTHONMALLOC=malloc");
    }
}
