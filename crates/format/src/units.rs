//! Numbers with a meaning. Arithmetic exists only where it says something true about the thing counted.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name($inner);

        impl $name {
            #[doc = concat!("Wraps a raw number as `", stringify!($name), "`.")]
            #[inline(always)]
            pub const fn new(raw: $inner) -> Self {
                Self(raw)
            }

            /// The raw number.
            #[inline(always)]
            pub const fn get(self) -> $inner {
                self.0
            }
        }
    };
}

number!(
    /// An address in the memory of the program.
    Addr(u64)
);
number!(
    /// A size in bytes.
    Bytes(u64)
);
number!(
    /// A duration, or a moment on the monotonic clock, in nanoseconds.
    Nanos(u64)
);
number!(
    /// A process id.
    Pid(u32)
);
number!(
    /// A node of the stack trie: one frame below all its callers. Node 0 is the root (the empty stack).
    NodeId(u32)
);
number!(
    /// A site: a stack that allocates. Site 0 does not exist.
    SiteId(u32)
);
number!(
    /// A loaded object file. Module 0 is "none": code that no object file covers.
    ModuleId(u16)
);

number!(
    /// A Python code object. Code 0 does not exist.
    CodeId(u32)
);
number!(
    /// A loop of a process; the first one has number 1.
    LoopId(u32)
);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// The difference, or zero where it would be negative.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl core::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::ZERO, Add::add)
    }
}

impl Add<Bytes> for Addr {
    type Output = Self;
    fn add(self, length: Bytes) -> Self {
        Self(self.0.wrapping_add(length.0))
    }
}

impl Sub for Addr {
    type Output = Bytes;
    fn sub(self, start: Self) -> Bytes {
        Bytes(self.0.wrapping_sub(start.0))
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::LowerHex for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
