//! What a report reads about one process of a run: its profile and its diagnosis as one, summed and sorted, and nothing about
//! how it looks.

mod remarks;

use std::collections::BTreeMap;

use heaplens_format::memory::{Space, Tables};
use heaplens_format::recording::{
    Amount, Damage, Decoded, Exit, Interpreter, LeakKind, Module, Process, Recording, Rss, Run, Sample,
};
use heaplens_format::{Bytes, Pid};

use crate::diagnose::{Finding, Growth, Known, Verdict, growth};
use crate::profile::sites::{Intervals, SiteThreads};
use crate::profile::{
    Category, Cost, Counts, Cut, Frames, HeldAt, HeldBy, Holders, Import, Iterations, Leaks, LedgerProfile,
    LossLine, MappingProfile, NamedMark, NoSuchProcess, ProcessRow, Resident, Returns, SiteProfile,
    SpaceProfile, StackFrame, StackId, StackStep, Stacks, ThreadPart, Totals, Tree, choice, is_python_pool,
    iterations, leaked, leaks, ledger, losses, process_tree, processes, reclaim_test, sites,
};
use crate::suppressions::{Names, Suppression};

pub use remarks::{Remark, RemarkKind, remarks};

/// What a report says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The run as a whole.
    pub run: Run,
    /// How the command ended, from the recorder or else from the process shown.
    pub exit: Option<Exit>,
    /// The process shown; `None` when nothing was recorded.
    pub pid: Option<Pid>,
    /// The processes of the tree, without shells and wrappers.
    pub processes: Vec<ProcessRow>,
    /// What Heaplens took.
    pub cost: Cost,
    /// The Python interpreter in the process shown, where one was seen.
    pub python: Option<Interpreter>,
    /// Resident memory of the process shown.
    pub rss: Option<Rss>,
    /// Readings of the process shown.
    pub timeline: Vec<Sample>,
    /// Mean distance of samples; `None`: exact.
    pub sampled: Option<Bytes>,
    /// Mean distance of samples of small Python objects, 1 when each was recorded; `None` when none was.
    pub object_interval: Option<Bytes>,
    /// Whether it is known what sites held when the script was through, before Python's own clean-up.
    pub knows_end_of_script: bool,
    /// Stacks that allocated, by what they held at the end, then by bytes at the peak.
    pub sites: Vec<SiteProfile>,
    /// What an iteration is and how many there were; `None` where no loop was found.
    pub iterations: Option<Iterations>,
    /// What grows.
    pub growth: Growth,
    /// Where its resident bytes were; `None` where no ledger was taken.
    pub ledger: Option<LedgerProfile>,
    /// Where its bytes were in other spaces than the host's.
    pub spaces: Vec<SpaceProfile>,
    /// Memory of the processes that lived together; `None` where one lived alone, or where they share nothing.
    pub tree: Option<Tree>,
    /// Which of its blocks could be reached at the end; `None` where that was not asked.
    pub leaks: Option<Leaks>,
    /// Leaks that are left out since they are known, by the name of the suppression.
    pub suppressed: Vec<(String, Amount)>,
    /// Who held its blocks, by the looks that were taken at its heap.
    pub holders: Holders,
    /// What libraries did in it that is no memory.
    pub counts: Counts,
    /// Object files that its code ran from.
    pub modules: Vec<Module>,
    /// Marks that are not passes of a loop.
    pub marks: Vec<NamedMark>,
    /// What came back when it was asked for; `None` where it was not.
    pub returns: Option<Returns>,
    /// What was lost while the process ran.
    pub losses: Vec<LossLine>,
    /// What could not be read from the recording.
    pub damage: Vec<Damage>,
    /// The tables that its lines and spaces are rows of.
    pub tables: Tables,
    /// Sums over sites, by category.
    totals: Vec<Totals>,
    stacks: Stacks,
    threads: SiteThreads,
}

/// Analyses one process: the main one, or the one with this pid.
///
/// # Errors
/// When `pid` is given and was not recorded.
pub fn profile(decoded: &Decoded, pid: Option<Pid>) -> Result<Profile, NoSuchProcess> {
    profile_by(decoded, pid, Tables::default())
}

/// The same by other tables than those of this version: lines and spaces that they have more are in every output.
///
/// # Errors
/// When `pid` is given and was not recorded.
pub fn profile_by(decoded: &Decoded, pid: Option<Pid>, tables: Tables) -> Result<Profile, NoSuchProcess> {
    profile_at(decoded, pid, tables, |_| HeldAt::End)
}

/// The same with what sites held at another moment of the process shown, in place of the end of its script.
pub(crate) fn profile_at(
    decoded: &Decoded,
    pid: Option<Pid>,
    tables: Tables,
    moment: impl FnOnce(&Process) -> HeldAt,
) -> Result<Profile, NoSuchProcess> {
    let recording = &decoded.recording;
    let choice = choice::choose(&recording.processes, pid)?;
    let process = choice.shown.map(|at| &recording.processes[at]);
    let rows =
        choice.visible.iter().map(|&at| processes::row(&recording.processes[at], choice.shown == Some(at)));
    let profile =
        process.map_or_else(Profile::default, |one| of_process(one, recording, tables, moment(one)));
    Ok(Profile {
        run: recording.run.clone(),
        exit: recording.run.exit.or_else(|| process.and_then(processes::exit_of)),
        processes: rows.collect(),
        cost: processes::cost(recording, process),
        sampled: recording.run.sample_interval,
        damage: decoded.damage.clone(),
        tree: process_tree::tree(&recording.processes),
        tables,
        ..profile
    })
}

impl Profile {
    /// A site by the threads that allocated there. The parts are the whole.
    pub fn by_thread(&self, site: &SiteProfile) -> Vec<ThreadPart<'_>> {
        self.threads.parts(site)
    }

    /// The stack of a site, innermost frame first.
    pub fn stack(&self, site: &SiteProfile) -> Frames<'_> {
        self.stacks.frames(site.stack)
    }

    /// The stack that made a mapping, innermost frame first; empty where that was not seen.
    pub fn mapping_stack(&self, mapping: &MappingProfile) -> impl Iterator<Item = &StackFrame> + Clone {
        self.stacks.frames(mapping.stack.unwrap_or_default())
    }

    /// Tells of leaks as one that share their kind and so many callers, and keeps the largest one's stack.
    pub fn merge_leaks(&mut self, callers: usize) {
        let Some(Leaks::Done(records)) = &mut self.leaks else { return };
        *records = leaks::merged(std::mem::take(records), |stack| {
            let place =
                |frame: &StackFrame| (frame.module.clone(), frame.offset, frame.file.clone(), frame.line);
            self.stacks.frames(stack).take(callers).map(place).collect::<Vec<_>>()
        });
    }

    /// Leaves out the leaks that are known; `names` are what Valgrind calls their frames, as far as that is known.
    pub fn suppress(&mut self, known: &[Suppression], names: &Names) {
        let Some(Leaks::Done(records)) = &mut self.leaks else { return };
        let (stacks, mut sums) = (&self.stacks, BTreeMap::<&str, Amount>::new());
        records.retain(|record| {
            // Most blocks are reachable, and hardly a suppression means those: their stacks are not looked at.
            let mut for_kind = known.iter().filter(|one| one.is_for(record.kind)).peekable();
            if for_kind.peek().is_none() {
                return true;
            }
            let stack: Vec<&StackFrame> = stacks.frames(record.stack).collect();
            let called = names.called(&stack);
            let by = for_kind.find(|one| one.matches(&called));
            by.map(|one| *sums.entry(&one.name).or_default() += record.direct).is_none()
        });
        self.suppressed.extend(sums.into_iter().map(|(name, amount)| (name.to_owned(), amount)));
    }

    /// The frames of a stack, innermost first.
    pub fn frames(&self, stack: StackId) -> Frames<'_> {
        self.stacks.frames(stack)
    }

    /// Every stack but the empty one, that with number 1 first: a tree, callers before what they call.
    pub fn stack_steps(&self) -> impl DoubleEndedIterator<Item = StackStep> + ExactSizeIterator {
        self.stacks.steps()
    }

    /// The frames that [`StackStep::frames`] counts in.
    pub fn frame_table(&self) -> &[StackFrame] {
        self.stacks.table()
    }

    /// Why the stack of a site ends early, where it does.
    pub fn cut(&self, site: &SiteProfile) -> Option<Cut> {
        self.stacks.cut(site.stack)
    }

    /// The Python line that a site is named by: the innermost of the user's own, else the innermost of a library.
    pub fn python_line(&self, site: &SiteProfile) -> Option<&StackFrame> {
        self.stacks.python_line(site.stack)
    }

    /// The import that a site is a part of.
    pub fn import(&self, site: &SiteProfile) -> Option<Import<'_>> {
        self.stacks.import(site.stack)
    }

    /// The line that growth is told for: the Python line of a site, else the innermost of native code whose source is known.
    pub fn line(&self, site: &SiteProfile) -> Option<&StackFrame> {
        self.stacks.line(site.stack)
    }

    /// The one word for the run; `None` where nothing was recorded.
    pub fn verdict(&self) -> Option<Verdict> {
        let verdict = self.growth.verdict?;
        let is_harmless = matches!(verdict, Verdict::Clean | Verdict::Plateau | Verdict::TooShort);
        let has_lost = self.lost(LeakKind::DefinitelyLost).blocks > 0;
        Some(if is_harmless && has_lost { Verdict::Lost } else { verdict })
    }

    /// Blocks of a kind at the end, without those that are known; none where they were not looked at.
    pub fn lost(&self, kind: LeakKind) -> Amount {
        match &self.leaks {
            Some(Leaks::Done(records)) => leaked(records, kind),
            Some(Leaks::NotDone(_)) | None => Amount::default(),
        }
    }

    /// What a finding is about and the program could no longer reach at its end.
    pub fn lost_of(&self, finding: &Finding) -> Amount {
        let Some(Leaks::Done(records)) = &self.leaks else { return Amount::default() };
        let stacks: Vec<StackId> = finding.sites.iter().map(|&site| self.sites[site].stack).collect();
        let is_lost = |kind| matches!(kind, LeakKind::DefinitelyLost | LeakKind::IndirectlyLost);
        let own = records.iter().filter(|record| is_lost(record.kind) && stacks.contains(&record.stack));
        own.map(|record| record.direct).sum()
    }

    /// The line that a stack is told for.
    pub fn line_of(&self, stack: StackId) -> Option<&StackFrame> {
        self.stacks.line(stack)
    }

    /// Who holds what a finding is about: what grows, not what was made once at the same line.
    pub fn held_by(&self, finding: &Finding) -> Option<HeldBy<'_>> {
        let sites = finding.sites.iter().map(|&site| &self.sites[site]);
        let mut growing: Vec<(f64, StackId)> =
            sites.clone().filter_map(|site| Some((self.growth.of_site(site)?, site.stack))).collect();
        growing.sort_by(|one, other| other.0.total_cmp(&one.0));
        let half = growing.iter().map(|(slope, _)| slope.max(0.0)).sum::<f64>() / 2.0;
        if half == 0.0 {
            let stacks: Vec<StackId> = sites.map(|site| site.stack).collect();
            return self.holders.of_stacks(&stacks);
        }
        let mut told = 0.0;
        for (slope, stack) in growing {
            if told >= half {
                break;
            }
            told += slope;
            if let Some(held) = self.holders.of_stacks(&[stack]) {
                return Some(held);
            }
        }
        None
    }

    /// The ledgers of all spaces, the host's first.
    pub fn ledgers(&self) -> impl Iterator<Item = &LedgerProfile> {
        self.ledger.iter().chain(self.spaces.iter().map(|space| &space.ledger))
    }

    /// The sums over the sites of a category.
    pub fn total(&self, category: Category) -> Totals {
        self.totals.get(category as usize).copied().unwrap_or_default()
    }

    /// The sums over the sites of the heap.
    pub fn heap(&self) -> Totals {
        self.total(Category::Heap)
    }

    /// The sites of the heap.
    pub fn heap_sites(&self) -> impl Iterator<Item = &SiteProfile> {
        self.sites.iter().filter(|site| site.category() == Category::Heap)
    }

    /// Whether a mapping is the memory that Python cuts small objects out of, which are sites themselves.
    pub fn is_pool(&self, site: &SiteProfile) -> bool {
        is_python_pool(site, &self.stacks)
    }

    /// The process shown.
    pub fn shown(&self) -> Option<&ProcessRow> {
        self.processes.iter().find(|row| row.shown)
    }
}

fn of_process(process: &Process, recording: &Recording, tables: Tables, held_at: HeldAt) -> Profile {
    let stacks = Stacks::new(process);
    let intervals = Intervals::of(process, recording.run.sample_interval);
    let (sites, threads) = sites::merge(process, &stacks, intervals, held_at);
    let iterations = iterations::iterations(process);
    let returns = reclaim_test::returns(process);
    let growth = growth(Known {
        process,
        stacks: &stacks,
        sites: &sites,
        iterations: iterations.as_ref(),
        heap_interval: intervals.heap,
        object_interval: intervals.objects,
        trimmed: returns.and_then(|returns| returns.trimmed).map(Resident::returned),
        tables,
    });
    let ledger = ledger::of(process, (Space::HOST, &process.ledgers), &stacks, iterations.as_ref());
    let spaces = ledger::of_spaces(process, &stacks, iterations.as_ref(), tables);
    Profile {
        pid: Some(process.pid),
        python: process.python,
        rss: ledger::rss(process, ledger.as_ref()),
        timeline: process.timeline.clone(),
        object_interval: process.object_interval,
        totals: sites::totals(&sites, process, intervals),
        knows_end_of_script: sites::end_of_script(process).is_some(),
        iterations,
        growth,
        ledger,
        spaces,
        leaks: leaks::of(process, &stacks),
        holders: Holders::of(process, &stacks),
        counts: Counts::of(process, &stacks),
        modules: process.modules.clone(),
        marks: iterations::named_marks(process),
        returns,
        losses: losses::losses(process, &sites, &stacks),
        sites,
        stacks,
        threads,
        ..Profile::default()
    }
}
