//! What memory can be, as data: the spaces that it lies in, the allocators that hand it out, what a site's blocks are, whose
//! they are, what is counted together, and the lines of the ledger. Each is a row of a table, and recorder, analysis and
//! outputs iterate over the rows: a new one is an edit here, and a producer. Nothing is measured or written here.
//!
//! ```text
//!   allocator ──▶ site kind ──▶ category   what is summed and ranked together
//!                     ├───────▶ layer      whose memory it is
//!                     └───────▶ space ◀─── line of the ledger ◀── who claims the bytes
//! ```

/// An enum and the table of its rows, from one list: a variant is a row, and its number is what files hold.
macro_rules! rows {
    (
        $(#[$of_enum:meta])* $name:ident, $row:ident;
        $($(#[$doc:meta])* $variant:ident = $number:literal { $($field:ident: $value:expr),* $(,)? })*
    ) => {
        $(#[$of_enum])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$doc])* $variant = $number),* }

        impl $name {
            /// All of them, by their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            const ROWS: &'static [$row; Self::COUNT] = &[$({
                let row = $row::PLAIN;
                $(let row = $row { $field: $value, ..row };)*
                row
            }),*];

            /// The one with this number; `None` for one of a newer version.
            pub const fn from_number(number: u64) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }

            /// Its row.
            #[inline]
            pub const fn row(self) -> &'static $row {
                &Self::ROWS[self as usize]
            }
        }

        // The number of a variant is its index in the table.
        const _: () = {
            let mut at = 0;
            while at < $name::COUNT {
                assert!($name::ALL[at] as usize == at);
                at += 1;
            }
        };
    };
}

mod allocator;
mod category;
mod family;
mod kind;
mod layer;
mod line;
mod space;
mod tables;

pub use allocator::{Allocator, AllocatorRow, LiveParts, Pool};
pub use category::{Category, CategoryRow, Sampling, Titles};
pub use family::{Family, FamilyRow};
pub use kind::{SiteKind, SiteKindRow};
pub use layer::{Layer, LayerRow};
pub use line::{ClaimedBy, Colour, Judged, LINES, Line, LineRow, Mappings, NamedAfter};
pub use space::{SPACES, Space, SpaceKind, SpaceRow};
pub use tables::Tables;

#[cfg(test)]
mod tests {
    use super::*;

    fn are_names(mut names: impl Iterator<Item = &'static str> + Clone) -> bool {
        while let Some(name) = names.next() {
            if name.is_empty() || names.clone().any(|other| other == name) {
                return false;
            }
        }
        true
    }

    #[test]
    fn no_two_rows_of_a_table_have_the_same_name() {
        assert!(are_names(Allocator::ALL.iter().map(|one| one.row().name)));
        assert!(are_names(Category::ALL.iter().map(|one| one.row().key)));
        assert!(are_names(Family::ALL.iter().map(|one| one.row().name)));
        assert!(are_names(SiteKind::ALL.iter().map(|one| one.row().name)));
        assert!(are_names(Layer::ALL.iter().map(|one| one.row().name)));
        assert!(are_names(LINES.iter().map(|row| row.label)));
        assert!(are_names(SPACES.iter().map(|row| row.name)));
    }
}
