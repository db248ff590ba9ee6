//! Spaces: where memory lies. The host's own is the first; others (a device, memory pinned for it) are rows beside it, and
//! a process has one ledger for each space that it uses.

use core::fmt;

/// A kind of space, by its number in files. A row of [`SPACES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceKind(u8);

impl SpaceKind {
    /// The kind with this number.
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// One space: a kind, and which of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Space {
    /// Its kind.
    pub kind: SpaceKind,
    /// Which one, where a process may have several; else 0.
    pub index: u16,
}

impl Space {
    /// The host's memory.
    pub const HOST: Self = Self { kind: SpaceKind::HOST, index: 0 };
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceRow {
    /// The kind.
    pub kind: SpaceKind,
    /// Its name in every output.
    pub name: &'static str,
    /// Whether there may be several, distinguished by their index: `device 0`.
    pub is_numbered: bool,
    /// What the lines of its ledger add up to.
    pub sum: &'static str,
}

macro_rules! spaces {
    ($($(#[$doc:meta])* $name:ident = $number:literal { $($field:ident: $value:expr),* $(,)? })*) => {
        impl SpaceKind {
            $($(#[$doc])* pub const $name: Self = Self($number);)*
        }

        /// The spaces, the host's first. Numbers are those of files, and are never used again for something else.
        pub static SPACES: &[SpaceRow] = &[$(SpaceRow { kind: SpaceKind::$name, $($field: $value),* }),*];
    };
}

spaces! {
    /// What the kernel counts as resident memory of the process.
    HOST = 0 { name: "host", is_numbered: false, sum: "RSS" }
}

impl SpaceRow {
    /// The name of one space of this kind.
    pub const fn name_of(&'static self, space: Space) -> SpaceName {
        SpaceName { row: self, index: space.index }
    }
}

/// The name of a space: `host`, `device 0`.
#[derive(Clone, Copy, Debug)]
pub struct SpaceName {
    row: &'static SpaceRow,
    index: u16,
}

impl fmt::Display for SpaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row.is_numbered {
            true => write!(f, "{} {}", self.row.name, self.index),
            false => f.write_str(self.row.name),
        }
    }
}
