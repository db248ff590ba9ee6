//! Allocators: who hands out blocks. One of them stands for `malloc` in a process, and its memory is the heap. Others are
//! pools: they take regions, from it or from the kernel, and hand out parts of them.

use super::Layer;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocatorRow {
    /// What it is called.
    pub name: &'static str,
    /// Its object files, by the beginnings of their names: what their code maps is the heap's.
    pub object_files: &'static [&'static str],
    /// What is to be known of its regions, where it is a pool.
    pub pool: Option<Pool>,
}

/// An allocator whose blocks lie in regions of another's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Instead of the site of a mapping in the arena: a region of this pool. `None` where regions are recognised by what they
    /// hold.
    pub region_mark: Option<u32>,
    /// How it is known what of its regions is in use.
    pub live: LiveParts,
}

/// How it is known what of a pool's regions is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveParts {
    /// Its parts are blocks of the arena's table, each of its own layer.
    AreBlocks,
    /// The recorder reads it from the pool itself: all of it is of one layer.
    AreRead(Layer),
}

impl AllocatorRow {
    const PLAIN: Self = Self { name: "", object_files: &[], pool: None };
}

rows! {
    /// Who hands out blocks.
    Allocator, AllocatorRow;

    /// glibc's `malloc`: its heaps are recognised by what they hold.
    Glibc = 0 { name: "glibc" }
    /// gperftools' and Google's.
    Tcmalloc = 1 { name: "tcmalloc", object_files: &["libtcmalloc"] }
    /// FreeBSD's and Facebook's.
    Jemalloc = 2 { name: "jemalloc", object_files: &["libjemalloc"] }
    /// Microsoft's.
    Mimalloc = 3 { name: "mimalloc", object_files: &["libmimalloc"] }
    /// Microsoft Research's.
    Snmalloc = 4 { name: "snmalloc", object_files: &["libsnmalloc"] }
    /// Of Intel's Threading Building Blocks.
    TbbMalloc = 5 { name: "tbbmalloc", object_files: &["libtbbmalloc"] }
    /// Hoard.
    Hoard = 6 { name: "hoard", object_files: &["libhoard"] }
    /// Python's, of small objects: it maps arenas.
    Pymalloc = 7 {
        name: "pymalloc",
        pool: Some(Pool { region_mark: None, live: LiveParts::AreRead(Layer::Python) }),
    }
    /// Pools of frameworks that have no row of their own: they take regions from `malloc`, as TensorFlow does for larger tensors.
    FrameworkPool = 8 {
        name: "framework-pool",
        pool: Some(Pool { region_mark: Some(u32::MAX), live: LiveParts::AreBlocks }),
    }
}

impl Allocator {
    /// The allocator that an object file is, by its path: `/usr/lib/libjemalloc.so.2`.
    pub fn of_object_file(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_its = |one: &Self| one.row().object_files.iter().any(|begin| name.starts_with(begin));
        Self::ALL.iter().copied().find(is_its)
    }

    /// The pool whose region a mapping of the arena is, by what it has instead of a site.
    pub fn of_region(mark: u32) -> Option<Self> {
        let is_its = |one: &Self| one.row().pool.is_some_and(|pool| pool.region_mark == Some(mark));
        Self::ALL.iter().copied().find(is_its)
    }

    /// Whether it is a pool whose parts are blocks of the arena's table.
    pub const fn hands_out_blocks(self) -> bool {
        matches!(self.row().pool, Some(Pool { live: LiveParts::AreBlocks, .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::block::MAX_SITE;

    #[test]
    fn allocators_are_recognised_by_the_names_of_their_object_files() {
        let tcmalloc = Allocator::of_object_file("/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4");
        assert_eq!(tcmalloc, Some(Allocator::Tcmalloc));
        assert_eq!(Allocator::of_object_file("/home/libjemalloc/program"), None);
    }

    #[test]
    fn the_marks_of_regions_are_no_sites_and_distinguish_pools() {
        for &one in Allocator::ALL {
            if let Some(mark) = one.row().pool.and_then(|pool| pool.region_mark) {
                assert!(mark > MAX_SITE);
                assert_eq!(Allocator::of_region(mark), Some(one));
            }
        }
        assert_eq!(Allocator::of_region(0), None);
    }
}
