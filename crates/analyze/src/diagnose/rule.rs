//! What a rule states, all of it in one file: how it is called and what is said about it, what it reads, when it holds, and
//! which memory it explains; and what it finds, since a finding names its rule and rules review findings. A rule is one file with
//! one static [`Rule`] (see [`super::rules`]). The engine asks rules and knows none of them by name, but for those that hold for any
//! program.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use heaplens_format::Bytes;
use heaplens_format::recording::{Amount, Stage};

use super::counting::{Counting, ThreadGrowth};
use super::evidence::Evidence;
use super::known::Known;
use crate::profile::reclaim_test::last_mark;
use crate::profile::{Counts, Frames, Layer, Measure, StackFrame};
use crate::trend::{Shape, TimeSeries, Trend};

/// What does not grow, and why that is known.
pub type Excluded = fn(&Counts) -> Option<(String, String)>;

/// A cause of growth. Two are the same if their identifiers are.
pub struct Rule {
    /// By which it is known in every output, and by which its page in `docs/rules` is called.
    pub id: &'static str,
    /// Its name, which is also that of its file.
    pub name: &'static str,
    /// Rules are asked in the order of this number: of two that could explain the same, the first has it.
    pub(crate) order: u16,

    /// The headline.
    pub(crate) title: Text,
    /// The word for one finding.
    pub(crate) verdict: Text,
    /// What to do, as far as it is known.
    pub(crate) fix: Text,
    /// Whether a known holder says better what to do.
    pub(crate) yields_to_holder: bool,
    /// What it makes of a run.
    pub outcome: Outcome,
    /// The layer that it is about, where that is another than that of the memory.
    pub(crate) layer: Option<&'static str>,
    /// What can be read about it in public.
    pub references: &'static [&'static str],
    /// Who holds what grows, step by step, where that is known without a heap snapshot.
    pub holder: &'static [&'static str],
    /// What a finding is measured by.
    pub measured_by: MeasuredBy,
    /// What was noted about this says why; else what was noted about the events.
    pub noted: Option<&'static str>,
    /// What was compared besides and does not grow, with the reason.
    pub excludes: Option<Excluded>,
    /// The line that it is reported for, where that is another than that of the site.
    pub(crate) line: Option<LineOf>,

    /// What must have been recorded for it to be asked at all.
    pub(crate) reads: &'static [Reads],
    /// Holds for a line that grows like this, and that starts threads whose number grows, or none.
    pub(crate) of_line: Option<fn(&Trend, Option<&ThreadGrowth>) -> bool>,
    /// Holds while events go on with the iterations.
    pub(crate) events: Option<Events>,
    /// Holds for a line where memory grows whose stack shows it.
    pub(crate) shown_by: Option<fn(Frames<'_>) -> bool>,
    /// Holds where it has most of what another one explains.
    pub(crate) within: Option<Within>,
    /// Reviews all findings, with what was tested and seen at the end: gives them another rule, adds or drops some.
    pub(crate) review: Option<fn(&Evidence<'_>, &mut Vec<Finding>)>,
    /// The memory that it explains besides that of its own lines.
    pub(crate) claims: Claims,
}

impl Rule {
    /// A leak of which nothing is known but its name.
    pub(crate) const fn new(id: &'static str, name: &'static str, order: u16) -> Self {
        Self {
            id,
            name,
            order,
            title: Text::Plain(""),
            verdict: Text::Plain(""),
            fix: Text::Plain(""),
            yields_to_holder: false,
            outcome: Outcome::Leak,
            layer: None,
            references: &[],
            holder: &[],
            measured_by: MeasuredBy::Pace,
            noted: None,
            excludes: None,
            line: None,
            reads: &[],
            of_line: None,
            events: None,
            shown_by: None,
            within: None,
            review: None,
            claims: Claims::NONE,
        }
    }

    /// Whether all that it reads was recorded of a process.
    pub(super) fn can_judge(&self, known: Known<'_>) -> bool {
        self.reads.iter().all(|reads| reads.is_in(known))
    }

    /// Whether what it finds grows and does not stop.
    pub(crate) fn is_leak(&self) -> bool {
        matches!(self.outcome, Outcome::Leak)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Rule {}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.name)
    }
}

/// Words about a finding.
pub(crate) enum Text {
    /// The same for each.
    Plain(&'static str),
    /// They depend on it, and on its line.
    By(fn(&Finding, Option<&StackFrame>) -> &'static str),
    /// They name something that the finding knows.
    Naming(fn(&Finding) -> String),
}

impl Text {
    /// Of a finding about this line.
    pub(crate) fn of(&self, finding: &Finding, line: Option<&StackFrame>) -> Cow<'static, str> {
        match self {
            Self::Plain(text) => Cow::Borrowed(text),
            Self::By(choose) => Cow::Borrowed(choose(finding, line)),
            Self::Naming(write) => Cow::Owned(write(finding)),
        }
    }
}

/// What a rule makes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It grows and does not stop.
    Leak,
    /// It grows for a reason that ends, or that is no leak: which.
    Ends(Ending),
    /// It grows, and nobody knows why.
    Unexplained,
}

/// What the verdict on a run says of growth that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// After what grows and how fast.
    After(&'static str),
    /// Instead of that.
    Instead(&'static str),
}

/// What a finding is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredBy {
    /// How fast it grows.
    Pace,
    /// What the reclaim test gave back.
    Reclaimed,
}

/// What a rule needs to know besides what lines hold at marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Events that libraries were counted to cause.
    Counters,
    /// What Python's collector freed when it was run as a test.
    Collection,
    /// What the allocator gave back when it was asked.
    Trim,
    /// Who holds what, as the heap was seen to be.
    Holders,
}

impl Reads {
    /// Whether a process has it.
    fn is_in(self, known: Known<'_>) -> bool {
        match self {
            Self::Counters => !known.process.counters.rows.is_empty(),
            Self::Collection => last_mark(known.process, Stage::Collected).is_some(),
            Self::Trim => known.trimmed.is_some(),
            Self::Holders => !known.process.heap.views.is_empty(),
        }
    }
}

/// The frame of a stack whose line a finding is reported for.
pub(crate) type LineOf = for<'a> fn(Frames<'a>) -> Option<&'a StackFrame>;

/// Events that go on with the iterations, at the lines that cause them.
pub(crate) struct Events {
    /// What is counted.
    pub(crate) counter: &'static str,
    /// What takes it back. Where something does, what is left is alive, and costs something be it ever so little.
    pub(crate) undone_by: Option<&'static str>,
    /// What must not go on as well: then it is a part of another cause.
    pub(crate) unless: Option<&'static str>,
    /// Whether what is counted may be garbage that Python's collector had not come to yet: then it is nobody's leak.
    pub(crate) may_be_garbage: bool,
    /// Rules that would report a part of it.
    pub(crate) instead_of: &'static [&'static Rule],
}

impl Events {
    pub(crate) const fn of(counter: &'static str) -> Self {
        Self { counter, undone_by: None, unless: None, may_be_garbage: false, instead_of: &[] }
    }
}

/// A part of what another rule explains.
pub(crate) struct Within {
    /// That rule.
    pub(crate) rule: &'static Rule,
    /// By how many bytes a site of it rose for this reason.
    pub(crate) rise: fn(Frames<'_>, &TimeSeries) -> f64,
    /// It is reported instead where it has more than this part of all.
    pub(crate) least: f64,
}

/// Memory that a rule explains besides that of its own lines.
pub(crate) struct Claims {
    /// Files of a library below which it is allocated, in whatever line: parts of their paths.
    pub(crate) inside: &'static [&'static str],
    /// Native functions below which it is allocated, in whatever line: parts of their names.
    pub(crate) through: &'static [&'static str],
    /// These count only on threads that run this function: a part of its name.
    pub(crate) on_threads: Option<&'static str>,
    /// Of its own lines only what is allocated below this function; all of it, where that is not said.
    pub(crate) below: Option<&'static str>,
    /// Classes of Python and attributes through which it is held, wherever it was allocated: it belongs to the one line of the
    /// rule, where there is one.
    pub(crate) held_through: &'static [&'static str],
}

impl Claims {
    /// Nothing besides.
    pub(crate) const NONE: Self =
        Self { inside: &[], through: &[], on_threads: None, below: None, held_through: &[] };
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Whose memory it is; `None` where that is not known.
    pub layer: Option<Layer>,
    /// How it grows.
    pub trend: Trend,
    /// Its part of all growth, 0 to 1; `None` where that is not known.
    pub share: Option<f64>,
    /// Blocks per iteration; `None` where that is not known.
    pub blocks_per_iteration: Option<f64>,
    /// Bytes per iteration that the allocator spends on these blocks beside what was asked for, as far as that is known.
    pub overhead: f64,
    /// Live while the program still ran, at the last iteration that is known.
    pub live: Amount,
    /// Of the same sites when the script was through, or at the end where that is not known.
    pub held: Measure,
    /// Bytes that the reclaim test gave back: the proof of a rule that has one.
    pub reclaimed: Option<Bytes>,
    /// The part of it that a heap snapshot saw as garbage while it grew, 0 to 1: the proof of a rule on garbage.
    pub garbage: Option<GarbagePart>,
    /// The part of it that a heap snapshot saw nobody hold while it grew, though it was no garbage, 0 to 1.
    pub overcounted: Option<f64>,
    /// Who kept a reference too many, where that is what the finding is about and it is known.
    pub kept_by: Option<KeptBy>,
    /// What a collection at the end freed of it, where that proves nothing.
    pub collected_at_exit: Option<CollectedAtExit>,
    /// How full the container is that it grows in, where that has a limit.
    pub fill: Option<Fill>,
    /// How threads become more, where these are what grows.
    pub threads: Option<ThreadGrowth>,
    /// What was counted, where the rule is one of a library's.
    pub counting: Option<Counting>,
    /// The name of the mapping that grows, where it is one that nobody was seen to make; empty where it has none.
    pub mapping: Option<String>,
    /// The site that grows most, by its index in the profile; its line is the finding's.
    pub representative: Option<usize>,
    /// All sites of that line, by their indices.
    pub sites: Vec<usize>,
}

/// Native code that keeps a reference to a Python object for which nobody can ask it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptBy {
    /// The extension module that allocated the object: its file name.
    Extension(Arc<str>),
    /// ctypes, of what a callback returned: it cannot know for how long C code uses that.
    Callback,
}

/// How full a container was when it was last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Elements that it had.
    pub elements: u64,
    /// Elements that it has at most.
    pub limit: u64,
}

/// What a heap snapshot saw as garbage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GarbagePart {
    /// The part, 0 to 1.
    pub part: f64,
    /// Whether it is the part of objects of Python's alone, which stand for the native memory that goes with them.
    pub of_objects: bool,
}

/// What a collection freed when the script was through. Functions had returned by then: it may have been held before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectedAtExit {
    /// Bytes.
    pub freed: Bytes,
    /// Whether a heap snapshot saw that it was held while it grew; else none was taken.
    pub was_held: bool,
}

impl Finding {
    /// Where it will stop, where that is known.
    pub fn stops_at(&self) -> Option<Bytes> {
        match self.trend.shape {
            Shape::Filling { level } if level.is_finite() => Some(Bytes::new(level.max(0.0) as u64)),
            _ => None,
        }
    }

    /// Growth of which no more is known than a rule, and how it goes on.
    pub(crate) fn new(rule: &'static Rule, trend: Trend) -> Self {
        Self {
            rule,
            layer: None,
            trend,
            share: None,
            blocks_per_iteration: None,
            overhead: 0.0,
            live: Amount::default(),
            held: Measure::default(),
            reclaimed: None,
            garbage: None,
            overcounted: None,
            kept_by: None,
            collected_at_exit: None,
            fill: None,
            threads: None,
            counting: None,
            mapping: None,
            representative: None,
            sites: Vec::new(),
        }
    }

    /// The layer that it is about; `None` where that is not known.
    pub fn layer_name(&self) -> Option<&'static str> {
        self.rule.layer.or_else(|| self.layer.map(Layer::name))
    }
}
