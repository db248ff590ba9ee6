//! The number of a thread's seat, by which tables know who counts.

/// The number of a seat, from 1; 0 is nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct SeatId(u32);

impl SeatId {
    /// A thread without a seat.
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
