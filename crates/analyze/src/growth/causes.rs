//! Causes that are known by what libraries did: a graph that grows, sessions that stay open. Each is a row of a table: what
//! is counted, what takes it back, and where else the memory comes from that it costs. The memory of a cause is one
//! finding, wherever it was allocated: it is told apart from that of other lines site by site.

use heaplens_format::arena::Counter;
use heaplens_format::recording::Process;

use super::axis::Axis;
use super::counted::{Counted, CountedLine};
use super::findings::Rule;
use super::place::{Key, Sum, key};
use crate::profile::{StackId, Stacks};

/// What is known of a cause before a program is looked at.
#[derive(Debug)]
struct Known {
    rule: Rule,
    /// What is counted.
    counter: Counter,
    /// What takes it back.
    undone_by: Option<Counter>,
    /// Files of the library below which its memory is allocated, in whatever line: parts of their paths.
    inside: &'static [&'static str],
    /// Rules that would tell a part of it.
    instead_of: &'static [Rule],
}

const SESSION: &str = "/tensorflow/python/client/session.py";
const TRACING: &str = "/tensorflow/python/framework/func_graph.py";
const COMPILING: &str = "/tensorflow/python/eager/polymorphic_function/";

/// In the order in which they claim memory that two of them could explain.
const KNOWN: [Known; 5] = [
    Known {
        rule: Rule::OpenSessions,
        counter: Counter::SessionMade,
        undone_by: Some(Counter::SessionClosed),
        inside: &[SESSION],
        instead_of: &[],
    },
    // A session that runs an operation for the first time keeps what it made to run it.
    Known {
        rule: Rule::GraphGrowth,
        counter: Counter::GraphOperation,
        undone_by: Some(Counter::GraphOperationFreed),
        inside: &[SESSION],
        instead_of: &[],
    },
    // What a model traced stays with the gradients that were registered for it, and with it the model.
    Known {
        rule: Rule::GradientRegistry,
        counter: Counter::GradientRegistered,
        undone_by: None,
        inside: &[TRACING, COMPILING, "/site-packages/keras/"],
        instead_of: &[Rule::Retracing],
    },
    Known {
        rule: Rule::PyFunctionRegistry,
        counter: Counter::PyFunctionRegistered,
        undone_by: Some(Counter::PyFunctionDropped),
        inside: &["/tensorflow/python/ops/script_ops.py", "/tensorflow/python/data/ops/"],
        instead_of: &[],
    },
    Known {
        rule: Rule::Retracing,
        counter: Counter::FunctionTraced,
        undone_by: Some(Counter::FunctionFreed),
        inside: &[TRACING, COMPILING],
        instead_of: &[],
    },
];

/// A cause that native code shows by itself: memory that only this function allocates grows at a line.
#[derive(Debug)]
struct KnownFunction {
    rule: Rule,
    /// Parts of its name.
    function: [&'static str; 2],
    /// The memory of that line that it explains is allocated below this one.
    below: &'static str,
}

const KNOWN_FUNCTIONS: [KnownFunction; 1] = [
    // A scalar that was never seen before is made, and kept to be handed out again: it is not freed with its tensor.
    KnownFunction {
        rule: Rule::ScalarCache,
        function: ["tensorflow::EagerContext::Create", "Scalar"],
        below: "tensorflow::ConvertToEagerTensor",
    },
];

/// A cause that is at work, with the memory that it costs.
#[derive(Debug)]
pub(super) struct Cause<'a> {
    pub(super) rule: Rule,
    pub(super) counting: Option<Counting>,
    pub(super) sum: Sum,
    keys: Vec<Option<Key<'a>>>,
    /// Of these lines only what is allocated below this function.
    below: Option<&'static str>,
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
        let at_work = KNOWN.iter().filter_map(|known| Some((known, Self::at_work(known, &counted, axis)?)));
        let (known, mut causes): (Vec<&Known>, Vec<Self>) = at_work.unzip();
        causes.retain(|cause| known.iter().all(|other| !other.instead_of.contains(&cause.rule)));
        causes
    }

    fn at_work(known: &Known, counted: &Counted<'a>, axis: &Axis) -> Option<Self> {
        let per_iteration = counted.pace(known.counter, known.undone_by, axis)?;
        let lines = counted.growing(known.counter, axis);
        (!lines.is_empty()).then(|| Self {
            rule: known.rule,
            counting: Some(Counting {
                counter: known.counter,
                per_iteration,
                lines: lines.iter().map(|(_, line)| *line).collect(),
            }),
            keys: lines.into_iter().map(|(key, _)| key).collect(),
            inside: known.inside,
            ..Self::new(known.rule)
        })
    }

    fn new(rule: Rule) -> Self {
        Self {
            rule,
            counting: None,
            sum: Sum::default(),
            keys: Vec::new(),
            below: None,
            inside: &[],
            most: None,
        }
    }

    /// The cause that growing memory of a stack gives away; `None` where it gives away none.
    pub(super) fn shown_by(stacks: &'a Stacks, stack: StackId) -> Option<Self> {
        let shows = |known: &&KnownFunction| {
            let mut functions = stacks.frames(stack).filter_map(|frame| frame.function.as_deref());
            functions.any(|name| known.function.iter().all(|part| name.contains(part)))
        };
        let known = KNOWN_FUNCTIONS.iter().find(shows)?;
        let keys = vec![stacks.line(stack).map(key)];
        Some(Self { keys, below: Some(known.below), ..Self::new(known.rule) })
    }

    /// Whether it is the same as another.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.rule == other.rule && self.keys == other.keys
    }

    /// Whether the memory of a stack at this line is its own.
    fn has_line(&self, stacks: &Stacks, line: Option<Key<'_>>, stack: StackId) -> bool {
        let mut functions = stacks.frames(stack).filter_map(|frame| frame.function.as_deref());
        self.keys.contains(&line)
            && self.below.is_none_or(|below| functions.any(|name| name.starts_with(below)))
    }

    fn has_inside(&self, stacks: &Stacks, stack: StackId) -> bool {
        let mut files = stacks.frames(stack).filter_map(|frame| frame.file.as_deref());
        files.any(|file| self.inside.iter().any(|part| file.contains(part)))
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
    if let Some(at) = causes.iter().position(|cause| cause.has_line(stacks, line, stack)) {
        causes[at].note_rise(site, rise);
        return Some(&mut causes[at].sum);
    }
    let at = causes.iter().position(|cause| cause.has_inside(stacks, stack))?;
    Some(&mut causes[at].sum)
}
