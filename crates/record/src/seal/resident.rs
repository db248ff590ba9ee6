//! Resident memory of a process at its start, its peak and its end: what the agent, the kernel and the readings say, put together.

use heaplens_format::Bytes;
use heaplens_format::recording::{Process, ProcessEnd, Rss, Sample};

use super::known::Known;
use crate::watch::Readings;

/// The kernel keeps one peak for a process, over all its images: it is of no use when there were several.
pub(super) fn kernel_peak(process: &Process, only_image: bool, known: &Known) -> Option<Bytes> {
    let own = process.arena_bytes + process.agent_private_bytes;
    let (_, peak) = known.peak.filter(|&(pid, _)| only_image && pid == process.pid)?;
    Some(peak.saturating_sub(own))
}

/// The agent reads the resident memory once more when the program ends; without that its last reading is the first one.
pub(super) fn agent_rss(rss: Rss, seen: ProcessEnd) -> Rss {
    match seen {
        ProcessEnd::Unknown | ProcessEnd::Running => Rss { end: Bytes::ZERO, ..rss },
        ProcessEnd::Ended(_) | ProcessEnd::Replaced => rss,
    }
}

/// Start and end as the agent saw them, else the first and last reading; the peak is the largest of all that is known.
pub(super) fn rss(agent: Option<Rss>, readings: &Readings, kernel_peak: Option<Bytes>) -> Option<Rss> {
    let timeline = &readings.timeline;
    let (first, last) = (timeline.first().map(of), timeline.last().map(of));
    let known = |value: fn(Rss) -> Bytes| agent.map(value).filter(|&bytes| bytes > Bytes::ZERO);
    let start = known(|rss| rss.start).or(first).or(kernel_peak)?;
    let end = known(|rss| rss.end).or(last).unwrap_or(start);
    let peaks = [known(|rss| rss.peak), kernel_peak, timeline.peak().map(of), Some(readings.peak_rss)];
    let peak = peaks.into_iter().flatten().fold(start.max(end), Bytes::max);
    Some(Rss { start, peak, end })
}

fn of(sample: Sample) -> Bytes {
    sample.rss
}

#[cfg(test)]
mod tests {
    use heaplens_format::Nanos;

    use super::*;

    fn readings(rss: &[u64]) -> Readings {
        let mut readings = Readings::default();
        for (tick, &rss) in rss.iter().enumerate() {
            let at = Nanos::new(tick as u64);
            readings.timeline.push(Sample { at, rss: Bytes::new(rss), ..Sample::default() });
        }
        readings
    }

    fn bytes_of(start: u64, peak: u64, end: u64) -> Rss {
        Rss { start: Bytes::new(start), peak: Bytes::new(peak), end: Bytes::new(end) }
    }

    #[test]
    fn the_agents_start_and_end_come_before_readings() {
        let found = rss(Some(bytes_of(10, 0, 40)), &readings(&[20, 70, 30]), None);
        assert_eq!(found, Some(bytes_of(10, 70, 40)));
    }

    #[test]
    fn an_end_that_the_agent_did_not_see_has_no_resident_memory() {
        let seen = bytes_of(10, 10, 10);
        assert_eq!(agent_rss(seen, ProcessEnd::Unknown), bytes_of(10, 10, 0));
        assert_eq!(agent_rss(seen, ProcessEnd::Replaced), seen);
    }

    #[test]
    fn a_killed_process_ends_with_its_last_reading() {
        let found = rss(Some(bytes_of(10, 0, 0)), &readings(&[20, 70, 30]), Some(Bytes::new(90)));
        assert_eq!(found, Some(bytes_of(10, 90, 30)));
    }

    #[test]
    fn what_was_never_read_is_not_known() {
        assert_eq!(rss(None, &readings(&[]), None), None);
    }
}
