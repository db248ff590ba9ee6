//! Callbacks of a run while it lasts.

use super::progress::ProgressListener;
use crate::snapshot::Examiner;

/// Callbacks of a run.
#[derive(Default)]
pub struct Listeners<'a> {
    /// Gets the progress, about twice a second while the program runs.
    pub progress: Option<ProgressListener<'a>>,
    /// Is shown a snapshot of each process at its end, and where `snapshots` says so before.
    pub examiner: Option<Examiner<'a>>,
    /// Whether the examiner is shown snapshots of a process that grows or asks for one, too, while it runs.
    pub snapshots: bool,
    /// A label of the user's marks: soon after each one, the examiner is shown a snapshot.
    pub snapshot_at: Option<&'a str>,
}
