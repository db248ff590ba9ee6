//! Memory out of which Python cuts its small objects.

use heaplens_cpython::pools::LARGEST_SMALL;

/// Memory out of which Python cuts its small objects, in the order of addresses.
#[derive(Debug, Default)]
pub(crate) struct Arenas(Vec<(u64, u64)>);

impl Arenas {
    pub(crate) fn new(mut ranges: Vec<(u64, u64)>) -> Self {
        ranges.sort_unstable();
        Self(ranges)
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        let behind = self.0.partition_point(|&(start, _)| start <= address);
        behind > 0 && address < self.0[behind - 1].1
    }

    /// Whether an object of Python's may be in a block: small ones lie in arenas, where there are any.
    pub(crate) fn may_hold(&self, start: u64, size: u64) -> bool {
        size > LARGEST_SMALL || self.0.is_empty() || self.contains(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_objects_lie_in_arenas_where_there_are_any() {
        let arenas = Arenas::new(vec![(0x9000, 0xa000), (0x1000, 0x2000)]);
        assert!(arenas.contains(0x1000) && arenas.contains(0x9fff));
        assert!(!arenas.contains(0x2000) && !arenas.contains(0x500) && !arenas.contains(0xa000));
        assert!(arenas.may_hold(0x1800, 64) && arenas.may_hold(0x5000, 4096));
        assert!(!arenas.may_hold(0x5000, 64), "malloc's");
        assert!(Arenas::default().may_hold(0x5000, 64), "PYTHONMALLOC=malloc");
    }
}
