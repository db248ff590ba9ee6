//! Families: which function made a block, hence which one must free it. Three bits of the block's word in the arena.

use super::Allocator;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyRow {
    /// What people call the function.
    pub name: &'static str,
    /// The pool that its blocks are parts of, where that is read from the pool itself: they are no blocks of the heap.
    pub pool: Option<Allocator>,
}

impl FamilyRow {
    const PLAIN: Self = Self { name: "", pool: None };
}

rows! {
    /// Which function made a block, hence which one must free it.
    Family, FamilyRow;

    /// `malloc`, `calloc`, `realloc`, `memalign` and friends.
    Malloc = 0 { name: "malloc" }
    /// `operator new`.
    New = 1 { name: "operator new" }
    /// `operator new[]`.
    NewArray = 2 { name: "operator new[]" }
    /// `operator new(size, align)`.
    AlignedNew = 3 { name: "operator new(std::align_val_t)" }
    /// `operator new[](size, align)`.
    AlignedNewArray = 4 { name: "operator new[](std::align_val_t)" }
    /// Python's allocator of small objects.
    PythonObject = 5 { name: "PyObject_Malloc", pool: Some(Allocator::Pymalloc) }
    /// A framework's pool, which hands out parts of a region.
    PoolPart = 6 { name: "a pool" }
}

const _: () = assert!(Family::COUNT <= 8, "three bits of a block's word");

impl Family {
    /// From the bits of a block's word.
    pub const fn from_bits(bits: u64) -> Self {
        match Self::from_number(bits & 7) {
            Some(family) => family,
            None => Self::Malloc,
        }
    }

    /// Whether its blocks are parts of the heap.
    pub const fn is_of_heap(self) -> bool {
        self.row().pool.is_none()
    }
}
