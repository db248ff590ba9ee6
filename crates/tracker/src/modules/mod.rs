//! The object files of this process: where their code, their unwind tables and their symbols are, and whether one of them is an
//! interpreter. It asks the loader without taking its locks, and loads nothing.

pub(crate) mod memory;
pub mod symbols;
mod table;

pub use table::{
    Found, Modules, defined_beside, defined_elsewhere, defines, exporting, exports_of, range_of,
};
