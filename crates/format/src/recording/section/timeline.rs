//! ```text
//!   rows: ns since the reading before, signed │ resident bytes │ live bytes
//!   threads of each row                                                        (since format 2.3)
//!   where it was read: CPU ns of each row since the one before, signed         (since format 2.11)
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
    timeline.iter().for_each(|sample| to.number(sample.threads.into()));
    if timeline.iter().any(|sample| sample.cpu.get() > 0) {
        write_cpu(timeline, to);
    }
}

fn write_cpu(timeline: &[Sample], to: &mut Writer) {
    let mut before = 0u64;
    for sample in timeline {
        to.signed(sample.cpu.get().wrapping_sub(before) as i64);
        before = sample.cpu.get();
    }
}

pub(crate) fn read(timeline: &mut Vec<Sample>, from: &mut Reader<'_>) -> Outcome {
    let mut at = 0u64;
    from.rows(3, timeline, |from| {
        at = at.wrapping_add(from.signed()? as u64);
        let (rss, live) = (Bytes::new(from.number()?), Bytes::new(from.number()?));
        Ok(Sample { at: Nanos::new(at), rss, live, threads: 0, cpu: Nanos::default() })
    })?;
    // Format 2.2 ends here.
    if from.left() > 0 {
        for sample in timeline.iter_mut() {
            sample.threads = from.small()?;
        }
    }
    // Format 2.10 ends here.
    if from.left() > 0 {
        read_cpu(timeline, from)?;
    }
    Ok(())
}

fn read_cpu(timeline: &mut [Sample], from: &mut Reader<'_>) -> Outcome {
    let mut cpu = 0u64;
    for sample in timeline {
        cpu = cpu.wrapping_add(from.signed()? as u64);
        sample.cpu = Nanos::new(cpu);
    }
    Ok(())
}
