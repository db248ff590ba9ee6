//! Leaks that are known and are not to be reported again: files of them in Valgrind's syntax or in that of the leak sanitizer,
//! and which stacks they mean. A suppression of ours names the frames that allocate, never a whole library.

mod built_in;
mod generate;
mod glob;
mod parse;
mod suppression;
mod valgrind_names;

pub use built_in::{built_in, built_in_files};
pub use generate::{Generated, UNNAMED, kind_word};
pub use parse::{Unparsable, kinds_of, parse};
pub use suppression::Suppression;
pub use valgrind_names::{Called, Names};
