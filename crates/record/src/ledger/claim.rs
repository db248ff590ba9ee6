//! Who has a page of anonymous memory, as a number that fits a word beside other things.
//!
//! ```text
//!   0 nobody │ 1 the heap │ 2 Heaplens │ 3 a stack │ 4 an image │ 5 Python │ 6 a pool │ 7 + site: who mapped it
//! ```

const FIRST_SITE: u32 = 7;

/// Who has a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claim {
    Nobody,
    Heap,
    Heaplens,
    Stack,
    Image,
    Python,
    Pool,
    Mapped(u32),
}

impl Claim {
    /// Whether the program reaches by itself what is there.
    pub(super) const fn is_reached(self) -> bool {
        matches!(self, Self::Nobody | Self::Image | Self::Mapped(_))
    }

    pub(super) const fn raw(self) -> u32 {
        match self {
            Self::Nobody => 0,
            Self::Heap => 1,
            Self::Heaplens => 2,
            Self::Stack => 3,
            Self::Image => 4,
            Self::Python => 5,
            Self::Pool => 6,
            Self::Mapped(site) => FIRST_SITE + site,
        }
    }

    pub(super) const fn from_raw(raw: u32) -> Self {
        match raw {
            0 => Self::Nobody,
            1 => Self::Heap,
            2 => Self::Heaplens,
            3 => Self::Stack,
            4 => Self::Image,
            5 => Self::Python,
            6 => Self::Pool,
            _ => Self::Mapped(raw - FIRST_SITE),
        }
    }
}
