//! The recording: one sealed, self-contained file from which every output derives, on any machine.
//!
//! [`model`] is what it says. The codec beside it writes that as chunks of bytes ([`encode()`]) and reads any bytes back
//! ([`decode()`]); it never panics, and what it cannot read it names as [`Damage`]. The layout is drawn in
//! `docs/format.md`.

mod amount;
mod checksum;
mod chunk;
mod counters;
mod damage;
mod decode;
mod encode;
pub mod errors;
mod heap;
mod leaks;
pub mod ledger;
pub mod model;
mod section;
mod sections;
mod signal;
mod soundness;
mod version;
mod wire;

pub use crate::memory::{Line, SiteKind};
pub use counters::{CountUntil, CounterRow, Counters, Note};
pub use damage::{Damage, DecodeError, Fault, PayloadFault, Violation};
pub use decode::{Decoded, decode};
pub use encode::encode;
pub use errors::{CanaryCheck, DamagedBlock, ErrorBlock, ErrorKind, MemoryError};
pub use heap::{
    BaseClass, ClassRow, GrowingNode, Heap, HeapMoment, HeapView, Holder, LimitedNode, PathNode, ReusedSite,
    Step, UnreachableSite,
};
pub use leaks::{LeakCheck, LeakKind, LostSite};
pub use ledger::{Ledger, LedgerMapping, LedgerMoment, LineBytes, SpaceLedgers};
pub use model::*;
pub use sections::{CheckedSection, SectionCheck};
pub use signal::signal_name;
pub use version::{Section, Version};
