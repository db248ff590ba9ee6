//! The arena: the tables of one process in one sparse shared file, written by the agent, read by the recorder.
//!
//! ```text
//!   HEADER   counters, region table, exe path, command line
//!   TOP      1 GiB of address space → page of its LEAVES directory            (block table, level 1)
//!   MODULES  loaded objects          STRINGS   their paths and build ids
//!   MAPPINGS live mappings, sorted by address
//!   CODES    Python code objects that were on a stack
//!   LOOPS    loops of the user's code    MARKS   moments that values are kept for
//!   NOTES    words about what is counted   COUNTERS   its names
//!   THREADS  the names of threads, by their thread slots
//!   ERRORS   memory errors of the program
//!   CHANGES  what sites had at marks
//!   SITES    counters of each stack that allocates (one or two records)
//!   NODES    the stack trie: frame, parent
//!   PAGES    everything that is taken page by page: leaf directories, leaves, fine cells
//! ```
//!
//! Every region is a range of file offsets far from the next; only its first `reserved` bytes exist. The agent reserves
//! (fallocate) before it touches, so a full disk is an error code and never a SIGBUS. The reader trusts no number:
//! a process may have been killed between any two stores.

pub mod block;
pub mod counter;
pub mod error;
pub mod frame;
pub mod header;
pub mod ledger;
pub mod marks;
pub mod python;
pub mod section;
pub mod self_fork;
pub mod table;
pub mod thread;
pub mod trampoline;

pub use block::{BlockEntry, Family};
pub use counter::CounterId;
pub use frame::FRAME_PSEUDO_MODULE;
pub use header::{End, Header, HeaderView, MAGIC, PAGE, Region};
pub use table::{MAPPING_SIZE, MODULE_SIZE, NODE_SIZE, Pseudo, SITE_SIZE};
