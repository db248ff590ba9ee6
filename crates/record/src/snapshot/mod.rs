//! Snapshots of living processes: how a heap is frozen, when that is done, and which findings are kept.

pub(crate) mod forked;
pub(crate) mod frozen;
pub(crate) mod headroom;
pub(crate) mod labels;
pub(crate) mod process_memory;
pub(crate) mod schedule;
pub(crate) mod self_forked;
pub(crate) mod worker;
