//! The number of a thread slot, by which tables know who counts.

/// The number of a thread slot, from 1; 0 is nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct SlotId(u32);

impl SlotId {
    /// A thread without one.
    pub const NONE: Self = Self(0);

    /// Wraps a number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    #[inline(always)]
    pub const fn get(self) -> u32 {
        self.0
    }
}
