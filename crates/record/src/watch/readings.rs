//! What was read of one program image while it ran. It reads nothing by itself.

use heaplens_format::{Bytes, Nanos};

use super::timeline::Timeline;
use crate::arena::Findings;

/// What was read of one program image while it ran.
#[derive(Debug)]
pub(crate) struct Readings {
    /// Readings over time.
    pub(crate) timeline: Timeline,
    /// The peak of resident memory by the kernel, without Heaplens's own.
    pub(crate) peak_rss: Bytes,
    /// CPU time, 0 when it was never read.
    pub(crate) cpu: Nanos,
    /// Its ledgers, and what its snapshots gave.
    pub(crate) findings: Findings,
}

impl Default for Readings {
    fn default() -> Self {
        Self {
            timeline: Timeline::new(),
            peak_rss: Bytes::ZERO,
            cpu: Nanos::default(),
            findings: Findings::default(),
        }
    }
}
