//! What the resident pages of one area are, in bytes, by who has them. It reads nothing.

use std::collections::BTreeMap;

use heaplens_format::Bytes;
use heaplens_format::memory::{Allocator, Layer};

use super::claim::Claim;

/// What the resident pages of one area are, in bytes; they add up to its resident pages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Pages of the heap, live blocks included.
    pub(crate) heap: Bytes,
    /// Live blocks, there and in pools, by whose they are.
    pub(crate) live: [Bytes; Layer::COUNT],
    /// Pages of pools.
    pub(crate) pools: BTreeMap<Allocator, PoolPart>,
    /// The other pages.
    pub(crate) others: BTreeMap<Claim, Bytes>,
    /// Pages of nobody that were inherited.
    pub(crate) inherited: Bytes,
    /// What of the heap was inherited, beside live blocks.
    pub(crate) inherited_heap: Bytes,
}

/// What pages of a pool are, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolPart {
    /// All of them.
    pub(crate) pages: Bytes,
    /// What of them is in use.
    pub(crate) live: Bytes,
}

impl Parts {
    /// Adds pages of one claim.
    pub(super) fn add(&mut self, claim: Claim, bytes: Bytes) {
        match claim {
            _ if bytes == Bytes::ZERO => {}
            Claim::Heap => self.heap += bytes,
            Claim::Pool(pool) => self.pools.entry(pool).or_default().pages += bytes,
            other => *self.others.entry(other).or_default() += bytes,
        }
    }

    /// Resident bytes by pages.
    pub(crate) fn total(&self) -> Bytes {
        let pools: Bytes = self.pools.values().map(|part| part.pages).sum();
        self.heap + pools + self.inherited + self.others.values().copied().sum::<Bytes>()
    }
}
