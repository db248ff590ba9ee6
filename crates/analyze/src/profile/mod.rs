//! What one process had, without any judgement: its stacks and sites, its ledgers, its loop, who held its blocks, what it lost,
//! and what the reclaim test gave. Nothing here says whether that is good or bad, or formats it.

pub(crate) mod choice;
mod counts;
mod coverage;
pub(crate) mod errors;
pub(crate) mod holders;
pub(crate) mod iterations;
pub(crate) mod leaks;
pub(crate) mod ledger;
pub(crate) mod losses;
pub(crate) mod process_tree;
pub(crate) mod processes;
mod quiet;
pub(crate) mod reclaim_test;
pub(crate) mod sections;
pub(crate) mod sites;
pub(crate) mod stacks;

pub use heaplens_format::memory::{Category, Layer, SiteKind};

pub(crate) use choice::Choice;
pub use choice::NoSuchProcess;
pub use counts::Counts;
pub use errors::{AnalysedError, ChangedBetween, Engine, ErrorSection, MemoryErrors};
pub(crate) use holders::held_through;
pub use holders::{HeldBy, Holders, path};
pub use iterations::{Iterations, NamedMark};
pub use leaks::{LeakRecord, Leaks, total as leaked};
pub use ledger::{LedgerProfile, MappingProfile, Moments, SpaceProfile};
pub use losses::LossLine;
pub use process_tree::ProcessTree;
pub use processes::{Cost, ProcessRow};
pub(crate) use quiet::quiet_since;
pub use reclaim_test::{Collected, ReclaimTest, Resident};
pub use sections::{CheckedAt, LeftAs, PassEnd, SectionLine, SectionProfile, SectionSum};
pub(crate) use sites::{HeldAt, is_python_pool};
pub use sites::{Margin, Measure, SiteProfile, ThreadPart, Totals};
pub use stacks::{
    Cut, Frames, Import, Origin, StackFrame, StackId, StackStep, headline, is_interpreter, is_library,
};
pub(crate) use stacks::{
    LineKey, Stacks, allocated_by_library, extension_module, is_callback_of_ctypes, own_line, thread_start,
};
