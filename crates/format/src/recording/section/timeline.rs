//! ```text
//!   rows: ns since the reading before, signed │ resident bytes │ live bytes
//! ```

use alloc::vec::Vec;

use super::Outcome;
use crate::recording::model::Sample;
use crate::recording::wire::{Reader, Writer};
use crate::units::{Bytes, Nanos};

pub(crate) fn write(timeline: &[Sample], to: &mut Writer) {
    to.count(timeline.len());
    let mut before = 0u64;
    for sample in timeline {
        to.signed(sample.at.get().wrapping_sub(before) as i64);
        to.number(sample.rss.get());
        to.number(sample.live.get());
        before = sample.at.get();
    }
}

pub(crate) fn read(timeline: &mut Vec<Sample>, from: &mut Reader<'_>) -> Outcome {
    let mut at = 0u64;
    from.rows(3, timeline, |from| {
        at = at.wrapping_add(from.signed()? as u64);
        Ok(Sample { at: Nanos::new(at), rss: Bytes::new(from.number()?), live: Bytes::new(from.number()?) })
    })
}
