//! The moments that can be compared: marks of the user's by their label, iterations of the main loop, the start and the end.

use heaplens_format::memory::Tables;
use heaplens_format::recording::{Decoded, Ledger, MarkKind, Process};
use heaplens_format::{Bytes, Nanos, Pid};

use crate::analysis::{Profile, profile, profile_at};
use crate::profile::{HeldAt, Iterations, NoSuchProcess};

/// A moment of a run, as it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the program allocated anything.
    Start,
    /// When its script was through; where that is not known, when it ended.
    End,
    /// When this iteration of the main loop began.
    Iteration(u64),
    /// A mark of the user's. Of several with one label the first is where a comparison begins, the last where it ends.
    Label(String),
}

impl Moment {
    /// From `start`, `end`, `pass:120`, or a label; `mark:start` is the label `start`.
    pub fn named(text: &str) -> Self {
        let iteration = text.strip_prefix("pass:").and_then(|number| number.parse().ok());
        match (text, iteration) {
            ("start", _) => Self::Start,
            ("end", _) => Self::End,
            (_, Some(iteration)) => Self::Iteration(iteration),
            _ => Self::Label(text.strip_prefix("mark:").unwrap_or(text).to_owned()),
        }
    }
}

/// The moment that was asked for is not in the recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchMoment {
    /// The process is not there at all.
    #[error(transparent)]
    Process(#[from] NoSuchProcess),
    /// No mark has this label.
    #[error("no mark is called '{label}'")]
    Label {
        /// What was asked for.
        label: String,
        /// What there is, each once.
        known: Vec<String>,
    },
    /// The loop did not come so far.
    #[error("there is no iteration {iteration}: the loop made {iterations}")]
    Iteration {
        /// What was asked for.
        iteration: u64,
        /// What there is.
        iterations: u64,
    },
    /// There are no iterations.
    #[error("no loop was found whose iterations could be counted")]
    NoLoop,
}

/// One side of a comparison: what a process held at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// The process. What its sites and totals `held` is what they held at the moment.
    pub profile: Profile,
    /// What the moment is called.
    pub name: String,
    /// When it was, since the start of the run; `None` for start and end.
    pub at: Option<Nanos>,
    /// The iteration that was asked for and is not kept.
    pub(super) missed: Option<u64>,
    is_start: bool,
}

/// Which of the marks with one label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    First,
    Last,
}

impl Side {
    /// A whole recording: what was held at its end.
    ///
    /// # Errors
    /// When `pid` is given and was not recorded.
    pub fn whole(decoded: &Decoded, pid: Option<Pid>) -> Result<Self, NoSuchProcess> {
        let profile = profile(decoded, pid)?;
        Ok(Self { profile, name: "end".to_owned(), ..Self::default() })
    }

    /// Where a comparison within a recording begins.
    ///
    /// # Errors
    /// When there is no such process or moment.
    pub fn from(decoded: &Decoded, pid: Option<Pid>, moment: &Moment) -> Result<Self, NoSuchMoment> {
        Self::at(decoded, pid, moment, Which::First)
    }

    /// Where it ends.
    ///
    /// # Errors
    /// When there is no such process or moment.
    pub fn to(decoded: &Decoded, pid: Option<Pid>, moment: &Moment) -> Result<Self, NoSuchMoment> {
        Self::at(decoded, pid, moment, Which::Last)
    }

    fn at(decoded: &Decoded, pid: Option<Pid>, moment: &Moment, which: Which) -> Result<Self, NoSuchMoment> {
        let whole = profile(decoded, pid)?;
        let of_loop = whole.iterations.as_ref();
        let mut found = Err(NoSuchMoment::NoLoop);
        let profile = profile_at(decoded, pid, Tables::default(), |process| {
            found = find(process, of_loop, moment, which);
            found.as_ref().map_or(HeldAt::End, |found| found.held_at)
        })?;
        let found = found?;
        let is_start = found.held_at == HeldAt::Start;
        Ok(Self { profile, name: found.name, at: found.at, missed: found.missed, is_start })
    }

    /// Resident memory then: the last reading before; `None` where there is none.
    pub(super) fn rss(&self) -> Option<Bytes> {
        let readings = &self.profile.timeline;
        match self.at {
            // The profile's own start is where the loop begins.
            None if self.is_start => readings.first().map(|sample| sample.rss),
            None => self.profile.rss.map(|rss| rss.end),
            Some(at) => {
                let next = readings.partition_point(|sample| sample.at <= at);
                readings.get(next.saturating_sub(1)).map(|sample| sample.rss)
            }
        }
    }

    /// The ledger that was read nearest to it.
    pub(super) fn ledger(&self) -> Option<&Ledger> {
        let all = &self.profile.ledger.as_ref()?.all;
        match self.at {
            None if self.is_start => all.first(),
            None => all.last(),
            Some(at) => all.iter().min_by_key(|ledger| ledger.at.get().abs_diff(at.get())),
        }
    }
}

struct FoundMoment {
    held_at: HeldAt,
    name: String,
    at: Option<Nanos>,
    missed: Option<u64>,
}

fn find(
    process: &Process,
    of_loop: Option<&Iterations>,
    moment: &Moment,
    which: Which,
) -> Result<FoundMoment, NoSuchMoment> {
    let edge = |held_at, name: &str| FoundMoment { held_at, name: name.to_owned(), at: None, missed: None };
    match moment {
        Moment::Start => Ok(edge(HeldAt::Start, "start")),
        Moment::End => Ok(edge(HeldAt::End, "end")),
        Moment::Iteration(wanted) => find_iteration(process, of_loop.ok_or(NoSuchMoment::NoLoop)?, *wanted),
        Moment::Label(label) => find_label(process, label, which),
    }
}

/// The iteration whose mark was kept and that is nearest: of many iterations not all are kept.
fn find_iteration(process: &Process, of_loop: &Iterations, wanted: u64) -> Result<FoundMoment, NoSuchMoment> {
    let none = NoSuchMoment::Iteration { iteration: wanted, iterations: of_loop.count };
    if !(1..=of_loop.count).contains(&wanted) {
        return Err(none);
    }
    let kept = of_loop.marks(process);
    let (at, number) = kept.min_by_key(|(_, number)| number.abs_diff(wanted)).ok_or(none)?;
    let (missed, marked) = ((number != wanted).then_some(wanted), process.marks[at].at);
    Ok(FoundMoment { held_at: HeldAt::Mark(at), name: format!("pass {number}"), at: Some(marked), missed })
}

fn find_label(process: &Process, wanted: &str, which: Which) -> Result<FoundMoment, NoSuchMoment> {
    let label = |kind: &MarkKind| matches!(kind, MarkKind::User { label, .. } if label == wanted);
    let mut marked = process.marks.iter().enumerate().filter(|(_, mark)| label(&mark.kind));
    let found = if which == Which::First { marked.next() } else { marked.next_back() };
    let (at, mark) = found
        .ok_or_else(|| NoSuchMoment::Label { label: wanted.to_owned(), known: known_labels(process) })?;
    Ok(FoundMoment { held_at: HeldAt::Mark(at), name: wanted.to_owned(), at: Some(mark.at), missed: None })
}

fn known_labels(process: &Process) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for mark in &process.marks {
        if let MarkKind::User { label, .. } = &mark.kind
            && !label.is_empty()
            && !known.contains(label)
        {
            known.push(label.clone());
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_named_as_people_type_them() {
        assert_eq!(Moment::named("start"), Moment::Start);
        assert_eq!(Moment::named("end"), Moment::End);
        assert_eq!(Moment::named("pass:120"), Moment::Iteration(120));
        assert_eq!(Moment::named("epoch 2"), Moment::Label("epoch 2".into()));
        assert_eq!(Moment::named("pass:first"), Moment::Label("pass:first".into()));
        assert_eq!(Moment::named("mark:end"), Moment::Label("end".into()));
    }
}
