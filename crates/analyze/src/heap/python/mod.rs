//! What objects of CPython are called, read from memory of a process that stands still: blocks of its own allocator, types,
//! where names begin, and how one object leads to another. It never takes part in the process, and trusts no word of it:
//! whatever is read may be half written or no object at all, so every chain ends and every doubt gives `None`.
//!
//! ```text
//!   malloc's or a pool's block    │ (values or weak references, dict) │ (collector's links) │ count │ type │ …
//!                                 start                                                     object
//! ```
//!
//! Which of the words before an object are there follows from its type. Where everything lies is known by `heaplens_cpython`: 3.8 to
//! 3.14 on x86-64, without debugging and with the global lock.

mod class;
mod classes;
mod constants;
mod dicts;
mod frames;
mod interpreter;
mod numpy;
mod objects;
mod parts;
mod pools;
mod reader;
mod reference_names;
mod references;
mod roots;
mod text;

pub use class::ClassId;
pub use frames::Running;
pub use interpreter::Python;
pub use objects::PythonObject;
pub use reference_names::ReferenceName;
pub use roots::{PythonRoot, RootName};
pub use text::{DictKey, ShowsKey};
