//! Causes that are known by what libraries did: a graph that grows, sessions that stay open. Each is a row of a table: what
//! is counted, what takes it back, and where else the memory comes from that it costs. The memory of a cause is one
//! finding, wherever it was allocated: it is told apart from that of other lines site by site.

use heaplens_format::arena::Counter;
use heaplens_format::recording::Process;

use super::axis::Axis;
use super::counted::{Counted, CountedLine};
use super::findings::Rule;
use super::place::{Key, Sum};
use crate::profile::{StackId, Stacks};

/// What is known of a cause before a program is looked at.
#[derive(Debug)]
struct Known {
    rule: Rule,
    /// What is counted.
    counter: Counter,
    /// What takes it back.
    undone_by: Option<Counter>,
    /// Files of the library below which its memory is allocated, in whatever line: the ends of their paths.
    inside: &'static [&'static str],
}

const SESSION: &str = "/tensorflow/python/client/session.py";

/// In the order in which they claim memory that two of them could explain.
const KNOWN: [Known; 2] = [
    Known {
        rule: Rule::OpenSessions,
        counter: Counter::SessionMade,
        undone_by: Some(Counter::SessionClosed),
        inside: &[SESSION],
    },
    // A session that runs an operation for the first time keeps what it made to run it.
    Known {
        rule: Rule::GraphGrowth,
        counter: Counter::GraphOperation,
        undone_by: Some(Counter::GraphOperationFreed),
        inside: &[SESSION],
    },
];

/// A cause that is at work, with the memory that it costs.
#[derive(Debug)]
pub(super) struct Cause<'a> {
    pub(super) rule: Rule,
    pub(super) counting: Counting,
    pub(super) sum: Sum,
    keys: Vec<Option<Key<'a>>>,
    inside: &'static [&'static str],
    /// Of the sites at its own lines the one that rose most, and by how much.
    most: Option<(usize, f64)>,
}

/// What was counted for a finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Counting {
    /// What.
    pub counter: Counter,
    /// Events per iteration, without those that were taken back.
    pub per_iteration: f64,
    /// By line, those with most of it first.
    pub lines: Vec<CountedLine>,
}

impl<'a> Cause<'a> {
    /// All that are at work in a process.
    pub(super) fn all(process: &Process, stacks: &'a Stacks, axis: &Axis) -> Vec<Self> {
        if process.counters.rows.is_empty() {
            return Vec::new();
        }
        let counted = Counted::of(process, stacks, axis);
        KNOWN.iter().filter_map(|known| Self::at_work(known, &counted, axis)).collect()
    }

    fn at_work(known: &Known, counted: &Counted<'a>, axis: &Axis) -> Option<Self> {
        let per_iteration = counted.pace(known.counter, known.undone_by, axis)?;
        let lines = counted.growing(known.counter, axis);
        (!lines.is_empty()).then(|| Self {
            rule: known.rule,
            counting: Counting {
                counter: known.counter,
                per_iteration,
                lines: lines.iter().map(|(_, line)| *line).collect(),
            },
            sum: Sum::default(),
            keys: lines.into_iter().map(|(key, _)| key).collect(),
            inside: known.inside,
            most: None,
        })
    }

    /// Whether a line is one where it is counted.
    fn has_line(&self, line: Option<Key<'_>>) -> bool {
        self.keys.contains(&line)
    }

    fn has_inside(&self, stacks: &Stacks, stack: StackId) -> bool {
        let mut files = stacks.frames(stack).filter_map(|frame| frame.file.as_deref());
        files.any(|file| self.inside.iter().any(|end| file.ends_with(end)))
    }

    /// Remembers a site at one of its own lines.
    fn note_rise(&mut self, site: usize, rise: f64) {
        if self.most.is_none_or(|(_, most)| rise > most) {
            self.most = Some((site, rise));
        }
    }

    /// The site that its line is told by: at a line where it is counted, if memory was allocated at one.
    pub(super) fn leader(&self) -> Option<usize> {
        self.most.map(|(site, _)| site).or(self.sum.leader())
    }
}

/// The cause that the memory of a stack is due to: that of its line, else one that allocates in a library.
pub(super) fn claim<'c, 'a>(
    causes: &'c mut [Cause<'a>],
    stacks: &Stacks,
    (line, stack): (Option<Key<'_>>, StackId),
    (site, rise): (usize, f64),
) -> Option<&'c mut Sum> {
    if let Some(at) = causes.iter().position(|cause| cause.has_line(line)) {
        causes[at].note_rise(site, rise);
        return Some(&mut causes[at].sum);
    }
    let at = causes.iter().position(|cause| cause.has_inside(stacks, stack))?;
    Some(&mut causes[at].sum)
}
