//! Sites ranked by bytes. A row is a source location (function and line): the stacks that allocate there are one row, shown by the
//! heaviest of them. Where Python runs, the location is the user's line.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{Category, Measure, SiteProfile, StackFrame, headline};
use heaplens_format::Bytes;
use heaplens_format::recording::Reading;

use super::number::share;
use super::process::is_running;
use super::source::source_line;
use super::stack::fold::{self, Folded, SHOWN_BRIEFLY};
use super::stack::location::frame_text;
use super::stack::mixed::{self, FoldedLine, is_machinery};
use super::wording::{one_line, plural};

/// What the interpreter's own memory is called.
const INTERPRETER: &str = "the Python interpreter itself";

/// Which sites are ranked, and by what they had when.
#[derive(Clone, Copy)]
pub(crate) struct Selection {
    pub(crate) category: Category,
    pub(crate) moment: fn(&SiteProfile) -> Measure,
}

/// The sites that allocate at one location.
pub(crate) struct SiteGroup<'a> {
    pub(crate) measure: Measure,
    pub(crate) heaviest: &'a SiteProfile,
    pub(crate) stacks: u64,
}

/// What distinguishes locations: function, file and line, or the address where these are unknown.
pub(crate) type LocationKey<'a> = (Option<&'a str>, Option<&'a str>, Option<u32>, Option<&'a str>, u64);

/// What a row stands for.
#[derive(PartialEq, Eq, Hash)]
pub(crate) enum GroupKey<'a> {
    /// A function and a line.
    Location(LocationKey<'a>),
    /// What the Python interpreter allocates for itself, outside any Python frame.
    Interpreter,
    /// A stack without frames.
    NoStack,
}

/// A row in words.
pub(crate) struct RankedSite {
    pub(crate) measure: Measure,
    pub(crate) share: String,
    /// The location itself, then its callers.
    pub(crate) lines: Vec<String>,
    pub(crate) source: Option<String>,
    /// Stacks that allocate there.
    pub(crate) stacks: u64,
}

/// What is live at last, in words.
pub(crate) struct Ranking {
    pub(crate) title: &'static str,
    /// The heaviest locations, each with at least a thousandth of the total.
    pub(crate) rows: Vec<RankedSite>,
    /// How many others there are.
    pub(crate) others: usize,
}

/// The heaviest locations, at most `top`, for an output with this room in a line.
pub(crate) fn ranking(profile: &Profile, category: Category, top: usize, room: usize) -> Ranking {
    let total = profile.total(category).held.bytes;
    let row = |(key, group): &(GroupKey<'_>, SiteGroup<'_>)| {
        let lines = lines(profile, group.heaviest, key, SHOWN_BRIEFLY);
        RankedSite {
            measure: group.measure,
            share: share(group.measure.bytes, total),
            source: lines.first().and_then(|line| source(line, profile)),
            lines: lines.iter().map(|line| line_text(line, room)).collect(),
            stacks: group.stacks,
        }
    };
    let selection = Selection { category, moment: |site| site.held };
    let groups = selection.group(profile, |site| Some(GroupKey::of(profile, site)));
    let is_heavy = |(_, group): &&(_, SiteGroup<'_>)| 1000 * group.measure.bytes.get() >= total.get();
    let rows: Vec<RankedSite> = groups.iter().take(top).take_while(is_heavy).map(row).collect();
    Ranking { title: title(profile, category), others: groups.len() - rows.len(), rows }
}

/// The title of a table of what is live at last. Of a script that is before Python's own cleanup: what is left after it is hardly
/// ever what the user asks for.
pub(crate) fn title(profile: &Profile, category: Category) -> &'static str {
    let titles = &category.row().titles;
    match (is_running(profile), profile.knows_end_of_script) {
        (true, _) => titles.now,
        (false, true) => titles.at_end_of_script,
        (false, false) => titles.at_exit,
    }
}

/// The lines of a row, those of its heaviest stack.
pub(crate) fn lines<'a>(
    profile: &'a Profile,
    heaviest: &SiteProfile,
    key: &GroupKey<'_>,
    shown: usize,
) -> Vec<FoldedLine<'a>> {
    let stack: Vec<&StackFrame> = profile.stack(heaviest).collect();
    match profile.python_line(heaviest) {
        _ if *key == GroupKey::Interpreter => vec![FoldedLine::Words(INTERPRETER.to_owned())],
        Some(line) => mixed::fold(&stack, line, shown),
        None => native_lines(&stack, shown),
    }
}

fn native_lines<'a>(stack: &[&'a StackFrame], shown: usize) -> Vec<FoldedLine<'a>> {
    let Folded { frames, hidden } = fold::fold(stack, shown);
    let mut lines: Vec<_> = frames.into_iter().map(FoldedLine::Frame).collect();
    if hidden > 0 {
        let more = FoldedLine::Words(format!("… {hidden} more {}", plural(hidden as u64, "frame")));
        lines.insert(lines.len() - 1, more);
    }
    lines
}

/// One line of a stack.
pub(crate) fn line_text(line: &FoldedLine<'_>, room: usize) -> String {
    match line {
        FoldedLine::Frame(frame) => frame_text(frame, room),
        FoldedLine::Words(words) => one_line(words),
    }
}

/// The source of a Python line, if its file is unchanged.
pub(crate) fn source(line: &FoldedLine<'_>, profile: &Profile) -> Option<String> {
    let FoldedLine::Frame(frame) = line else { return None };
    let file = frame.file.as_deref().filter(|_| frame.is_python())?;
    source_line(file, frame.line?, profile.run.started_unix).map(|text| one_line(&text))
}

impl Selection {
    /// The selected sites that have a key, one group for each key, the heaviest first.
    pub(crate) fn group<'a, K: Eq + Hash>(
        self,
        profile: &'a Profile,
        key: impl Fn(&'a SiteProfile) -> Option<K>,
    ) -> Vec<(K, SiteGroup<'a>)> {
        let mut groups: HashMap<K, SiteGroup<'a>> = HashMap::new();
        for site in profile.sites.iter().filter(|site| self.has(site)) {
            let Some(key) = key(site) else { continue };
            let measure = (self.moment)(site);
            match groups.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(SiteGroup { measure, heaviest: site, stacks: 1 });
                }
                Entry::Occupied(entry) => entry.into_mut().add(site, measure, self.moment),
            }
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, group)| {
            (Reverse((group.measure.bytes, group.measure.blocks)), group.heaviest.stack)
        });
        groups
    }

    fn has(self, site: &SiteProfile) -> bool {
        let measure = (self.moment)(site);
        site.category() == self.category && (measure.bytes > Bytes::ZERO || measure.blocks > 0)
    }
}

impl<'a> GroupKey<'a> {
    pub(crate) fn of(profile: &'a Profile, site: &SiteProfile) -> Self {
        let mut stack = profile.stack(site);
        let line = profile.python_line(site);
        let reads_python = profile.python.is_some_and(|python| python.reading == Reading::Frames);
        match line.or_else(|| headline(stack.clone())) {
            Some(_) if reads_python && line.is_none() && stack.all(is_machinery) => Self::Interpreter,
            Some(frame) => Self::Location(location_key(frame)),
            None => Self::NoStack,
        }
    }
}

fn location_key(frame: &StackFrame) -> LocationKey<'_> {
    let offset = if frame.function.is_some() { 0 } else { frame.offset };
    (frame.function.as_deref(), frame.file.as_deref(), frame.line, frame.module.as_deref(), offset)
}

impl<'a> SiteGroup<'a> {
    fn add(&mut self, site: &'a SiteProfile, measure: Measure, moment: fn(&SiteProfile) -> Measure) {
        self.measure.bytes += measure.bytes;
        self.measure.blocks += measure.blocks;
        // Independent samples: variances add, so margins add as the sides of a right triangle.
        self.measure.margin = self.measure.margin.zip(measure.margin).map(|(one, other)| one.with(other));
        self.stacks += 1;
        if measure.bytes > moment(self.heaviest).bytes {
            self.heaviest = site;
        }
    }
}
