//! What is too small to matter: neither the verdict nor the exit status knows it, and a report has one line for all of it. The floor
//! is no part of a recording: it is applied to a profile, and another one may be applied to the same recording.

use heaplens_format::Bytes;

use super::diagnosis::Diagnosis;
use super::rule::Finding;
use super::verdict::verdict;
use crate::trend::{How, Shape};

/// Growth over the run is below the floor if it is less than this, …
const LEAST_IN_RUN: f64 = (1 << 20) as f64;
/// … and less than this part of resident memory, …
const LEAST_PART_IN_RUN: f64 = 0.01;
/// … and, where it is known to go on, if a day at the same rate would add less than this part of resident memory.
const LEAST_PART_IN_A_DAY: f64 = 0.1;
const SECONDS_IN_A_DAY: f64 = 86_400.0;
/// How long growth must be watched to be known to go on, where resident memory does not grow with it: a day is no more than 144 times as
/// long.
const LONG: f64 = 600.0;
/// Beside growth that matters, so much of it matters, too: one cause may have several findings.
const PART_OF_LARGEST: f64 = 1.0 / 8.0;
/// Lost blocks that only libraries allocated matter from so many bytes on.
const LEAST_LOST: Bytes = Bytes::new(64 << 10);

/// What is too small to matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Floor {
    /// Nothing is.
    #[default]
    None,
    /// Growth by what it is of resident memory, in the run and in a day; what libraries lost by its bytes.
    Relative,
    /// Growth over the run, and what libraries lost, of fewer bytes than these.
    Bytes(Bytes),
}

impl Floor {
    /// Whether what libraries lost is too little to matter.
    pub(crate) fn is_above_lost(self, lost: Bytes) -> bool {
        match self {
            Self::None => false,
            Self::Relative => lost < LEAST_LOST,
            Self::Bytes(least) => lost < least,
        }
    }

    /// Whether bytes over the run, and so many in a day, are too few in a process of this size.
    fn is_above(self, rise: f64, in_a_day: f64, resident: f64) -> bool {
        match self {
            Self::None => false,
            Self::Relative => {
                rise < LEAST_IN_RUN
                    && rise < LEAST_PART_IN_RUN * resident
                    && in_a_day < LEAST_PART_IN_A_DAY * resident
            }
            Self::Bytes(least) => rise < least.get() as f64,
        }
    }
}

impl Diagnosis {
    /// Sets aside the findings that are below the floor: each of them, and all of them together. More threads matter however little
    /// memory they take. `seconds`: how long the process was watched.
    pub(crate) fn apply(&mut self, floor: Floor, resident: f64, seconds: f64) {
        let per_second = |finding: &Finding| match (self.how, self.seconds_per_iteration) {
            (How::Time, _) => finding.trend.slope.value,
            (_, Some(seconds)) if seconds > 0.0 => finding.trend.slope.value / seconds,
            _ => f64::INFINITY,
        };
        // What grew for two seconds in pages that were resident before need not go on for a day. What a library was counted to keep does.
        let goes_on = seconds >= LONG || self.rss.is_some_and(|rss| rss.shape == Shape::Linear);
        let in_a_day = |finding: &Finding| match goes_on || finding.counting.is_some() {
            true => SECONDS_IN_A_DAY * per_second(finding).max(0.0),
            false => 0.0,
        };
        let is_below = |findings: &[&Finding]| {
            let rise = findings.iter().map(|finding| finding.trend.rise.max(0.0)).sum();
            let in_a_day = findings.iter().map(|finding| in_a_day(finding)).sum();
            findings.iter().all(|finding| finding.threads.is_none())
                && floor.is_above(rise, in_a_day, resident)
        };
        let below: Vec<&Finding> = self.findings.iter().filter(|finding| is_below(&[finding])).collect();
        if below.is_empty() || !is_below(&below) {
            return;
        }
        let rises =
            self.findings.iter().filter(|finding| !is_below(&[finding])).map(|finding| finding.trend.rise);
        let beside = rises.fold(0.0, f64::max) * PART_OF_LARGEST;
        let is_little =
            |finding: &Finding| is_below(&[finding]) && (beside == 0.0 || finding.trend.rise < beside);
        let is_set_aside: Vec<bool> = self.findings.iter().map(is_little).collect();
        let mut is_set_aside = is_set_aside.into_iter();
        self.below_floor = self.findings.extract_if(.., |_| is_set_aside.next() == Some(true)).collect();
        self.verdict = self.verdict.map(|_| verdict(&self.findings, self.basis));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::counting::Counting;
    use crate::diagnose::testing::{LENGTH, MIB, growth, rising};
    use crate::diagnose::verdict::{Verdict, VerdictBasis};

    /// Of a hundred iterations that take so many seconds each, in which resident memory does this.
    fn grown(rises: &[f64], seconds: f64, rss: Shape) -> Diagnosis {
        Diagnosis {
            how: How::Loop,
            seconds_per_iteration: Some(seconds),
            rss: Some(rising(rss, MIB)),
            findings: rises.iter().map(|&rise| growth(0, rise)).collect(),
            verdict: Some(Verdict::Leak),
            ..Diagnosis::default()
        }
    }

    /// The findings that are left, and the verdict, where an iteration takes so many seconds.
    fn left(floor: Floor, rises: &[f64], seconds: f64) -> (usize, Option<Verdict>) {
        let mut diagnosis = grown(rises, seconds, Shape::Linear);
        diagnosis.apply(floor, 200.0 * MIB, LENGTH * seconds);
        assert_eq!(diagnosis.findings.len() + diagnosis.below_floor.len(), rises.len());
        (diagnosis.findings.len(), diagnosis.verdict)
    }

    #[test]
    fn growth_that_is_little_in_the_run_and_in_a_day_is_set_aside() {
        let leak = |count: usize| (count, Some(Verdict::Leak));
        // A hundred iterations of a minute each: a day has 14.4 times as much growth.
        assert_eq!(left(Floor::Relative, &[0.9 * MIB], 60.0), (0, Some(Verdict::Clean)));
        assert_eq!(left(Floor::Relative, &[1.1 * MIB], 60.0), leak(1), "1 MiB in the run");
        assert_eq!(left(Floor::Relative, &[0.9 * MIB], 1.0), leak(1), "778 MiB in a day");
        assert_eq!(left(Floor::Relative, &[0.6 * MIB, 0.6 * MIB], 60.0), leak(2), "together they matter");
        assert_eq!(left(Floor::Relative, &[0.9 * MIB, 9.0 * MIB], 60.0), leak(1));
        assert_eq!(left(Floor::None, &[1.0], 60.0), leak(1));
        assert_eq!(left(Floor::Bytes(Bytes::new(2 << 20)), &[1.9 * MIB], 0.001), (0, Some(Verdict::Clean)));
        assert_eq!(left(Floor::Bytes(Bytes::new(2 << 20)), &[2.1 * MIB], 0.001), leak(1));
    }

    #[test]
    fn a_day_is_judged_only_by_growth_that_is_known_to_go_on() {
        let is_left = |mut diagnosis: Diagnosis, seconds: f64| {
            diagnosis.apply(Floor::Relative, 200.0 * MIB, seconds);
            diagnosis.findings.len() == 1
        };
        let stands = || grown(&[0.9 * MIB], 0.02, Shape::Flat);
        assert!(!is_left(stands(), 2.0), "two seconds, in pages that were resident before");
        assert!(is_left(stands(), 600.0), "ten minutes");
        assert!(is_left(grown(&[0.9 * MIB], 0.02, Shape::Linear), 2.0), "resident memory grows with it");
        assert!(is_left(grown(&[2.1 * MIB], 0.02, Shape::Flat), 2.0), "more than 1 % in the run");
        let mut counted = stands();
        let counting = Counting { counter: "operations", per_iteration: 1.0, lines: Vec::new() };
        counted.findings[0].counting = Some(counting);
        assert!(is_left(counted, 2.0), "what a library keeps is counted, not measured");
    }

    #[test]
    fn a_good_part_of_what_matters_matters_beside_it() {
        let left = |rises: &[f64]| {
            let mut diagnosis = grown(rises, 0.02, Shape::Flat);
            diagnosis.apply(Floor::Relative, 200.0 * MIB, 2.0);
            diagnosis.findings.len()
        };
        assert_eq!(left(&[2.1 * MIB, 0.7 * MIB]), 2);
        assert_eq!(left(&[2.1 * MIB, 0.2 * MIB]), 1);
    }

    #[test]
    fn what_stood_before_stands_when_its_growth_is_set_aside() {
        let basis = VerdictBasis { stopped: true, too_short: false };
        let findings = vec![growth(0, MIB)];
        let mut diagnosis =
            Diagnosis { findings, basis, verdict: Some(Verdict::Leak), ..Diagnosis::default() };
        diagnosis.apply(Floor::Bytes(Bytes::new(2 << 20)), 200.0 * MIB, 60.0);
        assert_eq!(diagnosis.verdict, Some(Verdict::Plateau));
    }

    #[test]
    fn more_threads_are_never_too_few() {
        let threads = crate::diagnose::ThreadGrowth { per_iteration: 1.0, count: 20, have_ended: false };
        let findings = vec![Finding { threads: Some(threads), ..growth(0, 10.0) }];
        let mut diagnosis = Diagnosis { findings, verdict: Some(Verdict::Leak), ..Diagnosis::default() };
        diagnosis.apply(Floor::Bytes(Bytes::new(2 << 20)), 200.0 * MIB, 60.0);
        assert_eq!(diagnosis.findings.len(), 1);
    }

    #[test]
    fn what_libraries_lost_matters_from_64_kib_on() {
        assert!(
            Floor::Relative.is_above_lost(Bytes::new(65_535)) && !Floor::Relative.is_above_lost(LEAST_LOST)
        );
        assert!(!Floor::None.is_above_lost(Bytes::new(1)));
        assert!(Floor::Bytes(Bytes::new(100)).is_above_lost(Bytes::new(99)));
    }
}
