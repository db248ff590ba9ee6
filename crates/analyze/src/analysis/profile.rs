//! All that a report says about one process, and what it asks for by a site or a stack.

use heaplens_format::memory::Tables;
use heaplens_format::recording::{Amount, Damage, Exit, Interpreter, Module, Rss, Run, Sample};
use heaplens_format::{Bytes, Pid};

use crate::diagnose::{Diagnosis, Floor};
use crate::memcheck_engine::EngineFindings;
use crate::profile::sites::SiteThreads;
use crate::profile::{
    Category, Cost, Counts, Cut, Frames, Holders, Import, Iterations, Leaks, LedgerProfile, LossLine,
    MappingProfile, MemoryErrors, NamedMark, ProcessRow, ProcessTree, ReclaimTest, SectionProfile,
    SiteProfile, SpaceProfile, StackFrame, StackId, StackStep, Stacks, ThreadPart, Totals, is_python_pool,
};

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
    /// The process that stands for the command: its own, unless that only started others.
    pub main: Option<Pid>,
    /// Profiles of the other processes of the tree, in the order in which they began. Where nothing is wrong with one, it has no sites and no
    /// stacks.
    pub others: Vec<Self>,
    /// Resident memory of the tree; pages that several processes have count for each.
    pub tree_rss: Option<Rss>,
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
    /// The verdict and its findings.
    pub diagnosis: Diagnosis,
    /// What is too small to matter.
    pub floor: Floor,
    /// Where its resident bytes were; `None` where no ledger was taken.
    pub ledger: Option<LedgerProfile>,
    /// Where its bytes were in other spaces than the host's.
    pub spaces: Vec<SpaceProfile>,
    /// Memory of the processes that lived together; `None` where one lived alone, or where they share nothing.
    pub tree: Option<ProcessTree>,
    /// What it did wrong with memory.
    pub errors: MemoryErrors,
    /// What Valgrind found, where it was run besides.
    pub engine: Option<EngineFindings>,
    /// Which of its blocks could be reached at the end; `None` where that was not asked.
    pub leaks: Option<Leaks>,
    /// Parts of the program whose leaks were checked.
    pub sections: Vec<SectionProfile>,
    /// Leaks that are left out since they are known, by the name of the suppression.
    pub suppressed: Vec<(String, Amount)>,
    /// Who held its blocks, by the snapshots that were taken of its heap.
    pub holders: Holders,
    /// What libraries did in it that is no memory.
    pub counts: Counts,
    /// Object files that its code ran from.
    pub modules: Vec<Module>,
    /// Marks that are not iterations of a loop.
    pub marks: Vec<NamedMark>,
    /// What the reclaim test gave; `None` where there was none.
    pub reclaim_test: Option<ReclaimTest>,
    /// What was lost while the process ran.
    pub losses: Vec<LossLine>,
    /// What could not be read from the recording.
    pub damage: Vec<Damage>,
    /// The tables that its lines and spaces are rows of.
    pub tables: Tables,
    /// Sums over sites, by category.
    pub(super) totals: Vec<Totals>,
    pub(super) stacks: Stacks,
    pub(super) threads: SiteThreads,
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

    /// The line that growth is reported for: the Python line of a site, else the innermost of native code whose source is known.
    pub fn line(&self, site: &SiteProfile) -> Option<&StackFrame> {
        self.stacks.line(site.stack)
    }

    /// The line that a stack is reported for.
    pub fn line_of(&self, stack: StackId) -> Option<&StackFrame> {
        self.stacks.line(stack)
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

    /// Without its sites and stacks, and all that refers to them.
    pub(super) fn without_sites(self) -> Self {
        let diagnosis = self.diagnosis.without_sites();
        let leaks = self.leaks.map(|leaks| match leaks {
            Leaks::Done(_) => Leaks::Done(Vec::new()),
            Leaks::NotDone(why) => Leaks::NotDone(why),
        });
        Self {
            run: self.run,
            pid: self.pid,
            python: self.python,
            rss: self.rss,
            sampled: self.sampled,
            iterations: self.iterations,
            losses: self.losses,
            tables: self.tables,
            diagnosis,
            leaks,
            errors: self.errors,
            ..Self::default()
        }
    }

    /// The process shown.
    pub fn shown(&self) -> Option<&ProcessRow> {
        self.processes.iter().find(|row| row.shown)
    }
}
