//! Live blocks in the order of their addresses, and reading the memory of the process they lie in. What the words in a block mean is
//! not known here.
//!
//! ```text
//!   block_id ◀── index ◀── blocks ◀─┬─ block_set         window ◀── block_reader          pages
//!                                   └─ block_reader
//! ```

mod block_id;
mod block_reader;
mod block_set;
mod blocks;
mod index;
mod pages;
mod window;

pub use block_id::BlockId;
pub(crate) use block_id::ID_BITS;
pub(crate) use block_reader::BlockReader;
pub(crate) use block_set::BlockSet;
pub use blocks::{Blocks, TooManyBlocks};
pub(crate) use index::{Near, Spot};
pub(crate) use pages::Pages;
pub(crate) use window::ReadWindow;
