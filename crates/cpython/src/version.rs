//! Versions of CPython, and which of them are known.

/// A version, such as 3.11.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 3.
    pub major: u8,
    /// The part after the first point.
    pub minor: u8,
}

impl Version {
    /// The first one that is known.
    pub const OLDEST: Self = Self::new(3, 8);
    /// The last one.
    pub const NEWEST: Self = Self::new(3, 14);

    /// From both numbers.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }

    /// From a number as `PY_VERSION_HEX` has it.
    pub const fn from_hex(hex: u64) -> Self {
        Self::new((hex >> 24) as u8, (hex >> 16) as u8)
    }
}
