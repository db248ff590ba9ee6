//! The object files of this process: where their code, their unwind tables and their symbols are, and whether one of them is an
//! interpreter or a library that is watched for. It asks the loader without taking its locks, and loads nothing.

mod image;
pub mod interpreter;
mod library_watch;
mod loaded;
pub(crate) mod memory;
pub mod symbols;
mod table;

pub use image::Segment;
pub use library_watch::{LibraryWatch, NEVER, SELDOM, SOON, WatchedLibraries};
pub use loaded::{defined_beside, defined_elsewhere, defines, exporting, exports_of, range_of};
pub use table::{Found, Modules};
