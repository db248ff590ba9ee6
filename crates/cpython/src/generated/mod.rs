//! Tables of the versions. The files beside this one are written by `cargo xtask cpython-tables` from the headers and the `dis`
//! modules of the interpreters, and compared with them by its tests; nobody edits them.

pub mod fixed;
mod python_3_10;
mod python_3_11;
mod python_3_12;
mod python_3_13;
mod python_3_14;
mod python_3_8;
mod python_3_9;

use crate::bytecode::Opcodes;
use crate::layout::Layout;
use crate::table::Table;
use crate::version::Version;

impl Layout {
    /// Of a version, as its headers say.
    pub fn of(version: Version) -> Option<&'static Self> {
        table(version).map(|table| table.layout)
    }
}

impl Opcodes {
    /// Of a version.
    pub fn of(version: Version) -> Option<&'static Self> {
        table(version).map(|table| table.opcodes)
    }
}

/// The table of a version.
pub(crate) fn table(version: Version) -> Option<&'static Table> {
    match (version.major, version.minor) {
        (3, 8) => Some(&python_3_8::TABLE),
        (3, 9) => Some(&python_3_9::TABLE),
        (3, 10) => Some(&python_3_10::TABLE),
        (3, 11) => Some(&python_3_11::TABLE),
        (3, 12) => Some(&python_3_12::TABLE),
        (3, 13) => Some(&python_3_13::TABLE),
        (3, 14) => Some(&python_3_14::TABLE),
        _ => None,
    }
}
