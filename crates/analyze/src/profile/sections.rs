//! Parts of the program whose leaks were checked: what each allocated, what it left at its end, by line, and who held that.
//!
//! Blocks of the heap are those of a heap snapshot at the end of a pass, each with its leak kind. Small objects of Python and mappings are
//! known by their counters, since the snapshot has a sample of the former and the latter are of no kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use heaplens_format::NodeId;
use heaplens_format::memory::Category;
use heaplens_format::recording::{
    Amount, CheckedSection, HeapView, Holder, LeakCheck, LeakKind, MarkKind, PathNode, Process, SectionCheck,
    Step, UnreachableSite,
};

use super::holders::path;
use super::leaks::{Leaks, of_check};
use super::sites::end_of_script;
use super::stacks::{StackFrame, StackId, Stacks};

/// Files of Heaplens's own from which a section is opened: the package, which may be installed anywhere, and the header.
const OWN_FILES: [&str; 2] = ["/heaplens/__init__.py", "/heaplens/heaplens.h"];

/// A part of the program whose leaks were checked, over all its passes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SectionProfile {
    /// What the program calls it.
    pub name: Arc<str>,
    /// The line that opened it first, where that is known.
    pub begun: Option<StackFrame>,
    /// How often it was run.
    pub passes: u64,
    /// Whether its last pass had not ended when the process did.
    pub is_open: bool,
    /// What it allocated, and what of that was left at its last end.
    pub sums: BTreeMap<Category, SectionSum>,
    /// What was left at the ends of passes, the heap's and Python's objects; of many passes only some are known.
    pub ends: Vec<PassEnd>,
    /// Which leak check its lines come from.
    pub checked: CheckedAt,
    /// What was left, by line: what is lost first, then by bytes.
    pub lines: Vec<SectionLine>,
    /// The same as records of a leak check.
    pub leaks: Option<Leaks>,
    /// Lost blocks that are left out since they are known.
    pub suppressed: Amount,
    view: HeapView,
}

/// What a section allocated and left of one category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SectionSum {
    /// In all passes.
    pub allocated: Amount,
    /// At the end of the last one.
    pub left: Amount,
}

impl SectionSum {
    /// What was freed by the end of the last pass.
    pub fn freed(self) -> Amount {
        Amount {
            bytes: self.allocated.bytes.saturating_sub(self.left.bytes),
            blocks: self.allocated.blocks.saturating_sub(self.left.blocks),
        }
    }
}

/// What a section had left at the end of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassEnd {
    /// Counted from 1.
    pub pass: u64,
    /// All that this pass and those before it left.
    pub left: Amount,
    /// What the heap had when this pass began.
    pub before: Amount,
}

/// When the blocks of a section were looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CheckedAt {
    /// Never: no heap snapshot was taken at its end.
    #[default]
    Never,
    /// They could not be, for this reason.
    NotDone(String),
    /// At the end of this pass.
    Pass(u64),
    /// When the process exited.
    Exit,
}

/// What became of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftAs {
    /// They are of a leak kind other than reachable.
    Lost(LeakKind),
    /// Objects of Python with more references than there are pointers to them.
    Unreferenced,
    /// Garbage that waits for Python's collector.
    Garbage,
    /// Something holds them.
    Held,
    /// They were not looked for.
    Unknown,
}

/// What one stack left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SectionLine {
    /// The stack.
    pub stack: StackId,
    /// What they are.
    pub category: Category,
    /// What became of them.
    pub left_as: LeftAs,
    /// How many.
    pub amount: Amount,
    holder: Option<Holder>,
}

impl SectionProfile {
    /// The reference path to most of the blocks that were inspected of a line, from the root on; empty where none is known.
    pub fn holder(&self, line: &SectionLine) -> Vec<&PathNode> {
        line.holder.map_or_else(Vec::new, |holder| path(&self.view, holder.node))
    }

    /// A sum over lines.
    pub fn sum(&self, is_meant: impl Fn(&SectionLine) -> bool) -> Amount {
        self.lines.iter().filter(|line| is_meant(line)).map(|line| line.amount).sum()
    }

    /// What it allocated and left of a category.
    pub fn of(&self, category: Category) -> SectionSum {
        self.sums.get(&category).copied().unwrap_or_default()
    }

    /// What each pass left on average, where several are known: bytes of the heap and of Python's objects.
    pub fn bytes_per_pass(&self) -> Option<f64> {
        let (first, last) = (self.ends.first()?, self.ends.last()?);
        let grew = last.left.bytes.get() as f64 - first.left.bytes.get() as f64;
        (last.pass > first.pass).then(|| grew / (last.pass - first.pass) as f64)
    }
}

pub(crate) fn of(process: &Process, stacks: &Stacks) -> Vec<SectionProfile> {
    process.sections.iter().map(|section| of_section(process, stacks, section)).collect()
}

fn of_section(process: &Process, stacks: &Stacks, section: &CheckedSection) -> SectionProfile {
    let marks = Marks::of(process, section);
    let view = section.check.as_ref().and_then(|check| check.view.clone()).unwrap_or_default();
    let mut sums: BTreeMap<Category, SectionSum> = BTreeMap::new();
    for &site in &section.sites {
        let allocated = process.sites[site as usize];
        let sum = sums.entry(allocated.kind.category()).or_default();
        sum.allocated += allocated.allocated;
        sum.left += marks.left(process, site);
    }
    let leaks = section.check.as_ref().and_then(|check| check.leaks.as_ref());
    SectionProfile {
        name: section.name.clone(),
        begun: begun(stacks, section.begun).cloned(),
        passes: section.passes,
        is_open: section.is_open,
        sums,
        ends: marks.ends(process, section),
        checked: checked(section.check.as_ref()),
        lines: lines(process, stacks, section, &marks, &view),
        leaks: leaks.map(|check| of_check(check, process, stacks)),
        suppressed: Amount::default(),
        view,
    }
}

/// The innermost line of the user's own.
fn begun(stacks: &Stacks, node: NodeId) -> Option<&StackFrame> {
    let stack = stacks.of(node);
    let is_own = |frame: &StackFrame| {
        frame.file.as_deref().is_some_and(|file| OWN_FILES.iter().any(|own| file.ends_with(own)))
    };
    let line = stacks.line(stack)?;
    let is_callers =
        |frame: &&StackFrame| frame.is_python() == line.is_python() && frame.file.is_some() && !is_own(frame);
    if is_own(line) { stacks.frames(stack).find(is_callers) } else { Some(line) }
}

fn checked(check: Option<&SectionCheck>) -> CheckedAt {
    match check {
        None | Some(SectionCheck { leaks: None, .. }) => CheckedAt::Never,
        Some(SectionCheck { leaks: Some(LeakCheck::NotDone(reason)), .. }) => {
            CheckedAt::NotDone(reason.clone())
        }
        Some(SectionCheck { is_at_exit: true, .. }) => CheckedAt::Exit,
        Some(SectionCheck { pass, .. }) => CheckedAt::Pass(*pass),
    }
}

/// Where the marks of a section are among those of the process: begin and end of each known pass.
struct Marks {
    passes: Vec<(u64, usize, usize)>,
    /// The last known end, or the end of the script, or none: then what is live at the end counts.
    last: Option<usize>,
}

impl Marks {
    fn of(process: &Process, section: &CheckedSection) -> Self {
        let (mut passes, mut begun) = (Vec::new(), None);
        for (at, mark) in process.marks.iter().enumerate() {
            match mark.kind {
                MarkKind::Section { number, pass, is_end: false } if number == section.number => {
                    begun = Some((pass, at));
                }
                MarkKind::Section { number, pass, is_end: true } if number == section.number => {
                    let start = begun.filter(|&(of, _)| of == pass).map_or(at, |(_, start)| start);
                    passes.push((pass, start, at));
                }
                _ => {}
            }
        }
        let ended = passes.last().map(|&(_, _, end)| end);
        let last = if section.is_open { end_of_script(process) } else { ended };
        Self { passes, last }
    }

    /// What a site had at the last end.
    fn left(&self, process: &Process, site: u32) -> Amount {
        self.last.map_or(process.sites[site as usize].live, |mark| live_at(process, site, mark))
    }

    fn ends(&self, process: &Process, section: &CheckedSection) -> Vec<PassEnd> {
        let counts = |site: &u32| {
            matches!(process.sites[*site as usize].kind.category(), Category::Heap | Category::Objects)
        };
        let own: Vec<u32> = section.sites.iter().copied().filter(counts).collect();
        let sum = |mark: usize| own.iter().map(|&site| live_at(process, site, mark)).sum();
        let pass =
            |&(pass, start, end): &(u64, usize, usize)| PassEnd { pass, left: sum(end), before: sum(start) };
        self.passes.iter().map(pass).collect()
    }
}

/// What a site had at a mark.
fn live_at(process: &Process, site: u32, mark: usize) -> Amount {
    let history = process.histories.binary_search_by_key(&site, |history| history.site).ok();
    let at = history.and_then(|history| process.histories[history].at(mark));
    at.unwrap_or(process.sites[site as usize].live)
}

type LeftKey = (LeftAs, StackId, Category);

fn lines(
    process: &Process,
    stacks: &Stacks,
    section: &CheckedSection,
    marks: &Marks,
    view: &HeapView,
) -> Vec<SectionLine> {
    let mut found: BTreeMap<LeftKey, Amount> = BTreeMap::new();
    let mut holders: BTreeMap<StackId, Holder> = BTreeMap::new();
    for holder in view.holders.iter().filter(|holder| is_known(view, holder)) {
        holders.entry(stacks.of(process.sites[holder.site as usize].node)).or_insert(*holder);
    }
    for (site, left_as, amount) in left(process, section, marks, view) {
        let of = process.sites[site as usize];
        *found.entry((left_as, stacks.of(of.node), of.kind.category())).or_default() += amount;
    }
    let mut lines: Vec<SectionLine> = found
        .into_iter()
        .filter(|(_, amount)| amount.blocks > 0)
        .map(|((left_as, stack, category), amount)| SectionLine {
            stack,
            category,
            left_as,
            amount,
            holder: holders.get(&stack).copied().filter(|_| left_as == LeftAs::Held),
        })
        .collect();
    lines.sort_by_key(|line| (line.left_as, std::cmp::Reverse(line.amount.bytes)));
    lines
}

/// Whether most blocks of a site are held this way, by more than the list of Python's collector.
fn is_known(view: &HeapView, holder: &Holder) -> bool {
    let root = path(view, holder.node).first().map(|root| root.step);
    2 * holder.alike >= holder.inspected && root != Some(Step::Collector)
}

/// What each site left, and as what.
fn left(
    process: &Process,
    section: &CheckedSection,
    marks: &Marks,
    view: &HeapView,
) -> Vec<(u32, LeftAs, Amount)> {
    let lost = match section.check.as_ref().and_then(|check| check.leaks.as_ref()) {
        Some(LeakCheck::Done(lost)) => Some(lost),
        _ => None,
    };
    let unreachable: BTreeMap<u32, UnreachableSite> =
        view.unreachable.iter().flatten().map(|of| (of.site, *of)).collect();
    let mut rows = Vec::new();
    for lost in lost.into_iter().flatten() {
        let of = unreachable.get(&lost.site).filter(|_| lost.kind == LeakKind::StillReachable);
        rows.extend(
            divided(lost.direct, lost.kind, of).map(|(left_as, amount)| (lost.site, left_as, amount)),
        );
    }
    for &site in &section.sites {
        let category = process.sites[site as usize].kind.category();
        let left_as = match (category, lost.is_some()) {
            (Category::Heap, true) => continue,
            (_, false) => LeftAs::Unknown,
            (_, true) => mostly(unreachable.get(&site)),
        };
        rows.push((site, left_as, marks.left(process, site)));
    }
    rows
}

/// Of what can be reached by the terms of Memcheck, Python's objects may be garbage.
fn divided(
    all: Amount,
    kind: LeakKind,
    of: Option<&UnreachableSite>,
) -> impl Iterator<Item = (LeftAs, Amount)> + use<> {
    let (garbage, overcounted) = of.map_or_else(Default::default, |of| (of.garbage, of.overcounted));
    let rest = Amount {
        bytes: all.bytes.saturating_sub(garbage.bytes).saturating_sub(overcounted.bytes),
        blocks: all.blocks.saturating_sub(garbage.blocks).saturating_sub(overcounted.blocks),
    };
    let left_as = if kind == LeakKind::StillReachable { LeftAs::Held } else { LeftAs::Lost(kind) };
    [(LeftAs::Garbage, garbage), (LeftAs::Unreferenced, overcounted), (left_as, rest)].into_iter()
}

/// What most of a sample of Python's objects are.
fn mostly(of: Option<&UnreachableSite>) -> LeftAs {
    let most = |of: &UnreachableSite, part: Amount| 2 * part.blocks >= of.live.blocks.max(1);
    match of {
        Some(of) if most(of, of.garbage) => LeftAs::Garbage,
        Some(of) if most(of, of.overcounted) => LeftAs::Unreferenced,
        _ => LeftAs::Held,
    }
}

#[cfg(test)]
mod tests {
    use heaplens_format::Bytes;
    use heaplens_format::recording::{Change, History, LostSite, Mark, Site, SiteKind};

    use super::*;

    const NUMBER: u32 = 2;

    fn amount(bytes: u64, blocks: u64) -> Amount {
        Amount { bytes: Bytes::new(bytes), blocks }
    }

    /// Two passes: the first left a block of 100 bytes, the second two more. Of the three one is lost, and one is garbage.
    fn process(check: Option<SectionCheck>) -> Process {
        let site =
            |kind, live, allocated| Site { node: NodeId::default(), kind, live, peak: live, allocated };
        let mark = |pass, is_end| Mark {
            kind: MarkKind::Section { number: NUMBER, pass, is_end },
            at: Default::default(),
            live: Bytes::ZERO,
        };
        let changes =
            [(1, amount(0, 0)), (3, amount(100, 1))].map(|(until, live)| Change { until, live }).to_vec();
        let section = CheckedSection {
            number: NUMBER,
            name: "eval".into(),
            passes: 2,
            sites: vec![0, 1],
            check,
            ..CheckedSection::default()
        };
        Process {
            sites: vec![
                site(SiteKind::Heap, amount(300, 3), amount(900, 9)),
                site(SiteKind::PythonObject, amount(64, 2), amount(64, 2)),
                site(SiteKind::Heap, amount(7, 7), amount(7, 7)),
            ],
            marks: vec![mark(1, false), mark(1, true), mark(2, false), mark(2, true)],
            histories: vec![History { site: 0, changes }],
            sections: vec![section],
            ..Process::default()
        }
    }

    fn check() -> SectionCheck {
        let lost = |kind, direct| LostSite { site: 0, kind, direct, indirect: Amount::default() };
        let found = vec![
            lost(LeakKind::DefinitelyLost, amount(100, 1)),
            lost(LeakKind::StillReachable, amount(200, 2)),
        ];
        let garbage = UnreachableSite {
            site: 0,
            live: amount(300, 3),
            garbage: amount(100, 1),
            overcounted: Amount::default(),
        };
        let view = HeapView { unreachable: Some(vec![garbage]), ..HeapView::default() };
        SectionCheck {
            pass: 2,
            leaks: Some(LeakCheck::Done(found)),
            view: Some(view),
            ..SectionCheck::default()
        }
    }

    fn profiled(process: &Process) -> SectionProfile {
        of(process, &Stacks::new(process)).remove(0)
    }

    fn left(section: &SectionProfile) -> Vec<(LeftAs, Category, Amount)> {
        section.lines.iter().map(|line| (line.left_as, line.category, line.amount)).collect()
    }

    #[test]
    fn passes_are_summed_and_each_says_what_it_left() {
        let section = profiled(&process(Some(check())));
        let heap = section.of(Category::Heap);
        assert_eq!(
            (heap.allocated, heap.freed(), heap.left),
            (amount(900, 9), amount(600, 6), amount(300, 3))
        );
        let ends: Vec<_> = section.ends.iter().map(|end| (end.pass, end.before, end.left)).collect();
        assert_eq!(ends, [(1, amount(64, 2), amount(164, 3)), (2, amount(164, 3), amount(364, 5))]);
        assert_eq!((section.bytes_per_pass(), &section.checked), (Some(200.0), &CheckedAt::Pass(2)));
    }

    #[test]
    fn what_was_left_is_lost_garbage_or_held_and_small_objects_are_known_by_their_counters() {
        let expected = [
            (LeftAs::Lost(LeakKind::DefinitelyLost), Category::Heap, amount(100, 1)),
            (LeftAs::Garbage, Category::Heap, amount(100, 1)),
            (LeftAs::Held, Category::Heap, amount(100, 1)),
            (LeftAs::Held, Category::Objects, amount(64, 2)),
        ];
        assert_eq!(left(&profiled(&process(Some(check())))), expected);
    }

    #[test]
    fn without_a_check_nothing_is_called_lost_or_held() {
        let section = profiled(&process(None));
        let expected = [
            (LeftAs::Unknown, Category::Heap, amount(300, 3)),
            (LeftAs::Unknown, Category::Objects, amount(64, 2)),
        ];
        assert_eq!((left(&section).as_slice(), &section.checked), (&expected[..], &CheckedAt::Never));
    }

    #[test]
    fn a_section_that_is_open_left_what_is_live_at_the_end() {
        let mut open = process(None);
        open.sections[0].is_open = true;
        open.marks.truncate(1);
        assert_eq!(profiled(&open).of(Category::Heap).left, amount(300, 3));
        open.marks.push(Mark { kind: MarkKind::EndOfScript, ..open.marks[0].clone() });
        assert_eq!(
            profiled(&open).of(Category::Heap).left,
            amount(100, 1),
            "not what Python's clean-up left"
        );
    }
}
