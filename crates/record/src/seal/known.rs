//! What is known about a run beside its arenas.

use std::collections::BTreeMap;

use heaplens_format::recording::Exit;
use heaplens_format::{Bytes, Nanos, Pid};

use super::unchecked::Inspected;
use crate::session::ArenaName;
use crate::watch::Readings;

/// What is known about a run beside its arenas. The default knows nothing, as after the recorder was killed.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// When the run began, on the monotonic clock.
    pub(crate) start: Nanos,
    /// How long it took; 0 when unknown.
    pub(crate) wall: Nanos,
    /// The rate of the time stamp counter.
    pub(crate) ticks_per_second: f64,
    /// How processes ended, where the kernel said so.
    pub(crate) exits: BTreeMap<Pid, Exit>,
    /// What was read while they ran.
    pub(crate) readings: BTreeMap<ArenaName, Readings>,
    /// A process whose peak of resident memory the kernel reported, Heaplens's own part included.
    pub(crate) peak: Option<(Pid, Bytes)>,
    /// Which processes were to be inspected at their end.
    pub(crate) inspected: Inspected,
}
