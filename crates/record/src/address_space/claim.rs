//! Who has a page of anonymous memory, as a number that fits a word beside other things.
//!
//! ```text
//!   0 nobody │ 1 the heap │ 2 Heaplens │ 3 a stack │ 4 an image │ 5 + allocator: a pool │ after these: the site that mapped it
//! ```

use heaplens_format::memory::{Allocator, ClaimedBy};

const FIRST_POOL: u32 = 5;
const FIRST_SITE: u32 = FIRST_POOL + Allocator::COUNT as u32;

/// Who has a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Claim {
    Nobody,
    Heap,
    Heaplens,
    Stack,
    Image,
    Pool(Allocator),
    Mapped(u32),
}

impl Claim {
    /// Whether the program reaches by itself what is there.
    pub(crate) const fn is_reached(self) -> bool {
        matches!(self, Self::Nobody | Self::Image | Self::Mapped(_))
    }

    /// Who has the whole page in the ledger: what is left of the heap and of pools when live blocks are counted.
    pub(crate) const fn of_page(self) -> ClaimedBy {
        match self {
            Self::Nobody => ClaimedBy::NoMaker,
            Self::Heap => ClaimedBy::FreeHeap,
            Self::Heaplens => ClaimedBy::Heaplens,
            Self::Stack => ClaimedBy::Stacks,
            Self::Image => ClaimedBy::Files,
            Self::Pool(pool) => ClaimedBy::UnusedPool(pool),
            Self::Mapped(_) => ClaimedBy::Maker,
        }
    }

    pub(crate) const fn raw(self) -> u32 {
        match self {
            Self::Nobody => 0,
            Self::Heap => 1,
            Self::Heaplens => 2,
            Self::Stack => 3,
            Self::Image => 4,
            Self::Pool(pool) => FIRST_POOL + pool as u32,
            Self::Mapped(site) => FIRST_SITE + site,
        }
    }

    pub(crate) const fn from_raw(raw: u32) -> Self {
        match raw {
            0 => Self::Nobody,
            1 => Self::Heap,
            2 => Self::Heaplens,
            3 => Self::Stack,
            4 => Self::Image,
            FIRST_SITE.. => Self::Mapped(raw - FIRST_SITE),
            _ => match Allocator::from_number((raw - FIRST_POOL) as u64) {
                Some(pool) => Self::Pool(pool),
                None => Self::Nobody,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_known_by_its_number() {
        for raw in 0..FIRST_SITE + 3 {
            assert_eq!(Claim::from_raw(raw).raw(), raw);
        }
        assert_eq!(Claim::from_raw(FIRST_SITE + 7), Claim::Mapped(7));
    }
}
