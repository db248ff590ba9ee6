//! Where the regions of an arena lie: numbers alone.

use heaplens_format::arena::MODULE_SIZE;
use heaplens_format::arena::block::TOP_ENTRIES;
use heaplens_format::arena::header::{HEADER_SIZE, REGIONS};

pub(super) const KIB: u64 = 1 << 10;
pub(super) const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
pub(super) const TOP_SIZE: u64 = TOP_ENTRIES as u64 * 4;
const MODULES_SIZE: u64 = (1 << 16) * MODULE_SIZE as u64;

/// Offsets and capacities of the regions, in the order of [`heaplens_format::arena::Region`], which is that of their offsets, and the
/// length of the mapping.
pub(super) struct Layout {
    pub(super) regions: [(u64, u64); REGIONS],
    pub(super) length: u64,
}

/// For ordinary processes: 64 GiB of address space, of which only what is reserved exists.
pub(super) const WIDE: Layout = Layout {
    regions: [
        (0, HEADER_SIZE as u64),
        (64 * KIB, TOP_SIZE),
        (MIB, MODULES_SIZE),
        (64 * MIB, 448 * MIB),
        (512 * MIB, 32 * MIB),
        (768 * MIB, 128 * MIB),
        (896 * MIB, MIB),
        (904 * MIB, 8 * MIB),
        (912 * MIB, 64 * KIB),
        (912 * MIB + 512 * KIB, 16 * KIB),
        (913 * MIB, 256 * KIB),
        (914 * MIB, 32 * KIB),
        (GIB, 384 * MIB),
        (2 * GIB, GIB),
        (4 * GIB, 3 * GIB),
        (8 * GIB, 56 * GIB),
    ],
    length: 64 * GIB,
};

/// For processes whose address space is limited (`ulimit -v`).
pub(super) const NARROW: Layout = Layout {
    regions: [
        (0, HEADER_SIZE as u64),
        (64 * KIB, TOP_SIZE),
        (MIB, MODULES_SIZE),
        (8 * MIB, 8 * MIB),
        (16 * MIB, 8 * MIB),
        (24 * MIB, 4 * MIB),
        (28 * MIB, 256 * KIB),
        (28 * MIB + 512 * KIB, MIB),
        (29 * MIB + 512 * KIB, 64 * KIB),
        (29 * MIB + 576 * KIB, 16 * KIB),
        (29 * MIB + 640 * KIB, 256 * KIB),
        (29 * MIB + 896 * KIB, 32 * KIB),
        (30 * MIB, 2 * MIB),
        (32 * MIB, 64 * MIB),
        (96 * MIB, 96 * MIB),
        (192 * MIB, 320 * MIB),
    ],
    length: 512 * MIB,
};

/// Space to grow that a program with limited address space leaves us, in the order of [`heaplens_format::arena::Region`].
pub(super) const SPARE_SPACE: [u64; REGIONS] = [
    0,
    0,
    MIB,
    MIB,
    MIB,
    MIB,
    64 * KIB,
    64 * KIB,
    16 * KIB,
    16 * KIB,
    16 * KIB,
    32 * KIB,
    MIB,
    16 * MIB,
    32 * MIB,
    64 * MIB,
];
