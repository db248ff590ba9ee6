//! What rules review findings by.

use super::known::Known;
use super::reclaim_test::Reclaimed;
use super::unreachable::UnreachableParts;
use crate::trend::Trend;

/// What was tested and seen at the end of a run.
pub(crate) struct Evidence<'a> {
    /// The process.
    pub(crate) known: Known<'a>,
    /// What the reclaim test gave back.
    pub(crate) reclaimed: &'a Reclaimed,
    /// What a heap snapshot while the program ran saw of memory that nothing leads to.
    pub(crate) unreachable: &'a UnreachableParts,
    /// What resident memory does.
    pub(crate) rss: Option<&'a Trend>,
    /// What was resident at most.
    pub(crate) resident: f64,
}
