//! What sites have: bytes and blocks.

use core::iter::Sum;
use core::ops::AddAssign;

use crate::units::Bytes;

/// So many bytes in so many blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Bytes.
    pub bytes: Bytes,
    /// Blocks.
    pub blocks: u64,
}

impl AddAssign for Amount {
    fn add_assign(&mut self, more: Self) {
        self.bytes = Bytes::new(self.bytes.get().saturating_add(more.bytes.get()));
        self.blocks = self.blocks.saturating_add(more.blocks);
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, more| {
            sum += more;
            sum
        })
    }
}
