//! Causes that are at work in a process: rules on what libraries were counted to do, or that the stacks of growing memory show.
//! The memory of a cause is one finding, wherever it was allocated: it is separated from that of other lines site by site.
//! Which causes there are is not known here, rules say it.

use std::cell::RefCell;
use std::sync::Arc;

use heaplens_format::recording::Process;
use rustc_hash::{FxHashMap, FxHashSet};

use super::counted::Counted;
use super::site_sum::{SiteSum, line_key};
use crate::diagnose::counting::Counting;
use crate::diagnose::known::Known;
use crate::diagnose::rule::{Events, Rule, Within};
use crate::diagnose::rules;
use crate::profile::{LineKey, StackFrame, StackId, Stacks, held_through};
use crate::trend::{Axis, TimeSeries};

/// A cause that is at work, with the memory that it costs.
#[derive(Debug)]
pub(crate) struct Cause<'a> {
    rule: &'static Rule,
    pub(crate) counting: Option<Counting>,
    pub(crate) sum: SiteSum,
    /// The blocks of it that stand for one thread each.
    pub(crate) threads: TimeSeries,
    keys: Vec<Option<LineKey<'a>>>,
    /// Stacks of blocks that are held by what it keeps, wherever they were allocated.
    held: FxHashSet<StackId>,
    /// Frames by their address, and what each is to it.
    known_frames: RefCell<FxHashMap<*const StackFrame, Seen>>,
    /// The line that it is reported for instead of them, where its rule finds one in the stack itself.
    reported_at: Option<LineKey<'a>>,
    /// Whether what was counted is alive: it costs something, be it ever so little.
    pub(crate) is_alive: bool,
    /// Of the sites at its own lines the one that rose most, and by how much.
    most: Option<(usize, f64)>,
    /// Rules that would be reported instead if most of it were theirs, and bytes that they rose by.
    parts: Vec<(&'static Rule, f64)>,
}

/// What a frame, or a stack, is to a cause.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// In a file of its library.
    file: bool,
    /// In a function that allocates for it.
    function: bool,
    /// On a thread where such a function does.
    thread: bool,
}

impl Seen {
    fn or(self, other: Self) -> Self {
        Self {
            file: self.file || other.file,
            function: self.function || other.function,
            thread: self.thread || other.thread,
        }
    }

    fn is_inside(self) -> bool {
        self.file || self.function && self.thread
    }
}

impl<'a> Cause<'a> {
    /// All that are at work in a process, by what was counted, in the order in which they claim memory that two of them could
    /// explain.
    pub(crate) fn all(known: Known<'a>, axis: &Axis) -> Vec<Self> {
        let counted = Counted::of(known.process, known.stacks, axis);
        let asked = rules::all().iter().filter(|rule| rule.can_judge(known));
        let at_work = asked.filter_map(|rule| {
            let events = rule.events.as_ref()?;
            Some((events, Self::at_work(rule, events, &counted, axis)?))
        });
        let (events, mut causes): (Vec<&Events>, Vec<Self>) = at_work.unzip();
        causes.retain(|cause| events.iter().all(|other| !other.instead_of.contains(&cause.rule)));
        causes
    }

    fn at_work(rule: &'static Rule, events: &Events, counted: &Counted<'a>, axis: &Axis) -> Option<Self> {
        let per_iteration = counted.pace(events, axis)?;
        if events.unless.is_some_and(|other| counted.pace(&Events::of(other), axis).is_some()) {
            return None;
        }
        let lines = counted.growing(events.counter, axis);
        (!lines.is_empty()).then(|| Self {
            counting: Some(Counting {
                counter: events.counter,
                per_iteration,
                lines: lines.iter().map(|(_, line)| *line).collect(),
            }),
            keys: lines.into_iter().map(|(key, _)| key).collect(),
            is_alive: events.undone_by.is_some(),
            ..Self::new(rule)
        })
    }

    fn new(rule: &'static Rule) -> Self {
        let is_part = |part: &Rule| part.within.as_ref().is_some_and(|within| within.rule == rule);
        Self {
            rule,
            counting: None,
            sum: SiteSum::default(),
            threads: TimeSeries::default(),
            held: FxHashSet::default(),
            known_frames: RefCell::default(),
            keys: Vec::new(),
            reported_at: None,
            is_alive: false,
            most: None,
            parts: rules::all().iter().filter(|part| is_part(part)).map(|part| (*part, 0.0)).collect(),
        }
    }

    /// By what the memory of a stack gave away.
    fn shown(rule: &'static Rule, stacks: &'a Stacks, stack: StackId) -> Self {
        let (keys, reported_at) = match rule.line {
            None => (vec![stacks.line(stack).map(line_key)], None),
            Some(line) => (Vec::new(), line(stacks.frames(stack)).map(line_key)),
        };
        Self { keys, reported_at, ..Self::new(rule) }
    }

    /// Whether the memory of a stack at this line is its own.
    fn has_line(&self, stacks: &Stacks, line: Option<LineKey<'_>>, stack: StackId) -> bool {
        if let (Some(reported_at), Some(line)) = (self.reported_at, self.rule.line) {
            return line(stacks.frames(stack)).map(line_key) == Some(reported_at);
        }
        let mut functions = stacks.frames(stack).filter_map(|frame| frame.function.as_deref());
        let below = self.rule.claims.below;
        self.keys.contains(&line) && below.is_none_or(|below| functions.any(|name| name.starts_with(below)))
    }

    fn has_inside(&self, stacks: &'a Stacks, stack: StackId) -> bool {
        let claims = &self.rule.claims;
        let is_only_at_lines = claims.inside.is_empty() && claims.through.is_empty();
        self.held.contains(&stack) || !is_only_at_lines && self.seen(stacks, stack).is_inside()
    }

    /// What the frames of a stack are to it, together.
    fn seen(&self, stacks: &'a Stacks, stack: StackId) -> Seen {
        stacks.frames(stack).map(|frame| self.seen_in(frame)).fold(Seen::default(), Seen::or)
    }

    /// Frames are shared by many stacks, so each is compared once.
    fn seen_in(&self, frame: &'a StackFrame) -> Seen {
        let has = |text: &Option<Arc<str>>, parts: &[&str]| {
            text.as_deref().is_some_and(|text| parts.iter().any(|part| text.contains(part)))
        };
        let claims = &self.rule.claims;
        let compare = || Seen {
            file: has(&frame.file, claims.inside),
            function: has(&frame.function, claims.through),
            thread: claims.on_threads.is_none_or(|thread| has(&frame.function, &[thread])),
        };
        *self.known_frames.borrow_mut().entry(std::ptr::from_ref(frame)).or_insert_with(compare)
    }

    /// Whether it explains the memory of a stack.
    fn explains(&self, stacks: &'a Stacks, stack: StackId) -> bool {
        self.has_line(stacks, stacks.line(stack).map(line_key), stack) || self.has_inside(stacks, stack)
    }

    /// Remembers a site at one of its own lines.
    fn note_rise(&mut self, site: usize, rise: f64) {
        if self.most.is_none_or(|(_, most)| rise > most) {
            self.most = Some((site, rise));
        }
    }

    /// Remembers what of a site is explained better by the rules that are parts of its own.
    pub(crate) fn note_parts(&mut self, stacks: &Stacks, stack: StackId, values: &TimeSeries) {
        for (part, sum) in &mut self.parts {
            *sum += part.within.as_ref().map_or(0.0, |within| (within.rise)(stacks.frames(stack), values));
        }
    }

    /// What it is reported as.
    pub(crate) fn rule(&self) -> &'static Rule {
        let all = self.sum.values.changed();
        let is_most = |within: &Within, rise: f64| rise > within.least * all;
        let has_most = |(part, rise): &&(&'static Rule, f64)| {
            part.within.as_ref().is_some_and(|within| is_most(within, *rise))
        };
        self.parts.iter().find(has_most).map_or(self.rule, |(part, _)| part)
    }

    /// The representative site, which its line is reported by: at a line where it is counted, if memory was allocated at one.
    pub(crate) fn representative(&self) -> Option<usize> {
        self.most.map(|(site, _)| site).or(self.sum.representative())
    }
}

/// What growing memory of a stack gives away.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    rule: &'static Rule,
    stack: StackId,
}

/// `None` where it gives away nothing. The first rule that fits is it; those that explain a part of a line come before those
/// that explain all of it.
pub(crate) fn shown_by(stacks: &Stacks, stack: StackId) -> Option<Shown> {
    let is_shown = |rule: &&&'static Rule| rule.shown_by.is_some_and(|is_in| is_in(stacks.frames(stack)));
    rules::all().iter().find(is_shown).map(|rule| Shown { rule, stack })
}

/// Adds the causes that memory gave away, but for memory that another cause explains.
pub(crate) fn add_shown<'a>(
    causes: &mut Vec<Cause<'a>>,
    process: &Process,
    stacks: &'a Stacks,
    mut shown: Vec<Shown>,
) {
    shown.sort_by_key(|shown| (shown.rule.order, shown.stack));
    for Shown { rule, stack } in shown {
        if !causes.iter().any(|cause| cause.explains(stacks, stack)) {
            causes.push(Cause::shown(rule, stacks, stack));
        }
    }
    for rule in rules::all().iter().filter(|rule| !rule.claims.held_through.is_empty()) {
        let mut keeping = causes.iter_mut().filter(|cause| cause.rule == *rule);
        if let (Some(cause), None) = (keeping.next(), keeping.next()) {
            cause.held = held_through(process, stacks, rule.claims.held_through);
        }
    }
}

/// The cause that the memory of a stack is due to: that of its line, else one that allocates in a library.
pub(crate) fn claim<'c, 'a>(
    causes: &'c mut [Cause<'a>],
    stacks: &'a Stacks,
    (line, stack): (Option<LineKey<'_>>, StackId),
    (site, rise): (usize, f64),
) -> Option<&'c mut Cause<'a>> {
    if let Some(at) = causes.iter().position(|cause| cause.has_line(stacks, line, stack)) {
        causes[at].note_rise(site, rise);
        return Some(&mut causes[at]);
    }
    let at = causes.iter().position(|cause| cause.has_inside(stacks, stack))?;
    Some(&mut causes[at])
}
