//! Which tools and programs are compared with each other.

/// Tools that are compared with each other: each family has its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// They see the program's C and C++.
    Native,
    /// They see its Python, or stand beside those that do.
    Python,
}

impl Family {
    /// In the order of the tables.
    pub const ALL: [Self; 2] = [Self::Native, Self::Python];
}

pub const BOTH: &[Family] = &Family::ALL;
pub const NATIVE: &[Family] = &[Family::Native];
pub const PYTHON: &[Family] = &[Family::Python];
