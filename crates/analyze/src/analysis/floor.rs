//! The floor of a report, applied to what grows and to what was lost.

use heaplens_format::Bytes;
use heaplens_format::recording::{Amount, LeakKind};

use super::profile::Profile;
use crate::diagnose::Floor;
use crate::profile::{LeakRecord, Leaks, allocated_by_library};

impl Profile {
    /// Sets aside what is below a floor, in every process. Blocks that the user's own code lost never are.
    pub fn apply_floor(&mut self, floor: Floor) {
        self.others.iter_mut().for_each(|other| other.apply_floor(floor));
        let resident = self.rss.map_or(0.0, |rss| rss.peak.get() as f64);
        self.diagnosis.apply(floor, resident, self.seconds_watched());
        self.floor = floor;
    }

    /// From the first reading to the last.
    fn seconds_watched(&self) -> f64 {
        let [first, last] =
            [self.timeline.first(), self.timeline.last()].map(|one| one.map_or(0, |one| one.at.get()));
        last.saturating_sub(first) as f64 / 1e9
    }

    /// Definitely lost blocks that are below the floor; `None` where they matter, or where there are none.
    pub fn lost_below_floor(&self) -> Option<Amount> {
        let Some(Leaks::Done(records)) = &self.leaks else { return None };
        let lost = || records.iter().filter(|record| record.kind == LeakKind::DefinitelyLost);
        let of_library = |record: &LeakRecord| allocated_by_library(self.stacks.frames(record.stack));
        let bytes = Bytes::new(lost().map(LeakRecord::bytes).sum());
        let is_below = lost().next().is_some() && self.floor.is_above_lost(bytes) && lost().all(of_library);
        is_below.then(|| lost().map(|record| record.direct).sum())
    }
}
