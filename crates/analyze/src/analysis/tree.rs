//! The tree of processes: which of them is worst, what the run comes to as a whole, and which of them did the same.
//!
//! A process that ended gave its memory back, so not all growth is growth of the tree:
//!
//! ```text
//!   the command's own process, workers of a pool     counts: they live as long as the work does
//!   workers that are replaced after some tasks       does not count: what they keep is bounded by their short lives
//!   a program that ran for a while and succeeded     does not count if it is known by time alone: it grew until its work was done
//! ```

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use heaplens_format::recording::{Exit, LeakKind, ProcessEnd};
use heaplens_format::{Nanos, Pid};

use super::profile::Profile;
use crate::diagnose::{Finding, Verdict};
use crate::profile::{AnalysedError, LossLine, ProcessRow};
use crate::trend::How;

/// Workers are replaced if on average they lived for no more than this part of the time in which there were any.
const REPLACED: f64 = 0.25;
/// A program that was started on the way lived for less than this part of the run.
const ON_THE_WAY: f64 = 0.5;

/// A process of the tree with its profile.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// The process.
    pub row: &'a ProcessRow,
    /// Its profile. Where nothing is wrong with it, and it is not the process shown, without sites and stacks.
    pub profile: &'a Profile,
}

/// Processes that did the same, the worst first: there is at least one.
#[derive(Clone, Debug)]
pub struct ProcessGroup<'a> {
    /// The processes.
    pub members: Vec<Member<'a>>,
    /// Whether their growth is growth of the tree, not bounded by their short lives.
    pub counts: bool,
}

impl<'a> ProcessGroup<'a> {
    /// The worst of them, which stands for all.
    pub fn worst(&self) -> Member<'a> {
        self.members[0]
    }

    /// Whether something is wrong with them that the verdict on the tree must say.
    pub fn is_at_fault(&self) -> bool {
        self.counts && is_at_fault(self.worst().profile)
    }

    /// Whether this process is one of them.
    pub fn has(&self, pid: Option<Pid>) -> bool {
        self.members.iter().any(|member| Some(member.row.pid) == pid)
    }
}

/// A loss, over all processes that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLoss {
    /// Their sum.
    pub line: LossLine,
    /// The processes.
    pub pids: Vec<Pid>,
}

impl Profile {
    /// The one word for the whole tree: that of the worst process, or, where nothing is wrong, that of the command's own.
    pub fn tree_verdict(&self) -> Option<Verdict> {
        self.worst().verdict()
    }

    /// The profile that the verdict on the tree is taken from.
    pub fn worst(&self) -> &Self {
        let members = self.members();
        let own = || members.iter().find(|member| Some(member.row.pid) == self.main).copied();
        worst(&members, self.main).or_else(own).map_or(self, |member| member.profile)
    }

    /// All processes of the tree that are worth naming, in groups that did the same: those with the worst verdict first.
    pub fn groups(&self) -> Vec<ProcessGroup<'_>> {
        let members = self.members();
        let lives = Lives::of(&members, self.main);
        let mut groups: HashMap<GroupKey<'_>, ProcessGroup<'_>> = HashMap::new();
        for member in members {
            let counts = lives.counts(member);
            let group = groups.entry(GroupKey::of(member, counts));
            group.or_insert(ProcessGroup { members: Vec::new(), counts }).members.push(member);
        }
        let mut groups: Vec<ProcessGroup<'_>> = groups.into_values().collect();
        let began = |member: &Member<'_>| (member.row.start, member.row.pid);
        for group in &mut groups {
            group.members.sort_by_key(|member| (Reverse(badness(*member)), began(member)));
            let best = best_explained(&group.members);
            group.members[..=best].rotate_right(1);
        }
        groups.sort_by_key(|group| (Reverse(group.badness()), began(&group.worst())));
        groups
    }

    /// What was lost in the tree, kind by kind, that of the process shown first.
    pub fn tree_losses(&self) -> Vec<TreeLoss> {
        let mut losses: Vec<TreeLoss> = Vec::new();
        for member in self.shown_first() {
            for line in &member.profile.losses {
                match losses.iter_mut().find(|known| known.line.what == line.what) {
                    Some(known) => known.add(line, member.row.pid),
                    None => losses.push(TreeLoss { line: line.clone(), pids: vec![member.row.pid] }),
                }
            }
        }
        losses
    }

    /// The memory errors of all processes, those of the process shown first.
    pub fn tree_errors(&self) -> Vec<(&ProcessRow, &AnalysedError)> {
        let mut errors = Vec::new();
        for Member { row, profile } in self.shown_first() {
            errors.extend(profile.errors.reported.iter().map(|error| (row, error)));
        }
        errors
    }

    fn shown_first(&self) -> Vec<Member<'_>> {
        let mut members = self.members();
        members.sort_by_key(|member| !member.row.shown);
        members
    }

    fn members(&self) -> Vec<Member<'_>> {
        let others = self.others.iter().filter_map(|other| Some((other.pid?, other)));
        let profiles: HashMap<Pid, &Self> =
            self.pid.map(|pid| (pid, self)).into_iter().chain(others).collect();
        let member = |row| Some(Member { row, profile: profiles.get(&row.pid)? });
        self.processes.iter().filter_map(member).collect()
    }
}

impl TreeLoss {
    fn add(&mut self, line: &LossLine, pid: Pid) {
        self.line.count = self.line.count.saturating_add(line.count);
        self.line.of = self.line.of.zip(line.of).map(|(one, other)| one.saturating_add(other));
        self.pids.push(pid);
    }
}

impl ProcessGroup<'_> {
    fn badness(&self) -> Badness {
        if self.counts { badness(self.worst()) } else { Badness::default() }
    }
}

/// The worst process of those whose verdict is that something is wrong.
pub(super) fn worst<'a>(members: &[Member<'a>], main: Option<Pid>) -> Option<Member<'a>> {
    let lives = Lives::of(members, main);
    let at_fault = |member: &Member<'_>| badness(*member).severity > 0 && lives.counts(*member);
    let mut at_fault: Vec<Member<'_>> = members.iter().copied().filter(at_fault).collect();
    // Of equals, the first to begin is the best guess: the sort keeps their order.
    at_fault.sort_by_key(|member| Reverse(badness(*member)));
    let key = GroupKey::of(*at_fault.first()?, true);
    at_fault.retain(|member| GroupKey::of(*member, true) == key);
    Some(at_fault[best_explained(&at_fault)])
}

/// Which of equal workers, the worst first, stands for all.
fn best_explained(members: &[Member<'_>]) -> usize {
    let explained = |profile: &Profile| {
        let held = profile.diagnosis.findings.first().and_then(|finding| profile.held_by(finding));
        held.map_or(0, |held| held.inspected)
    };
    let workers = members.iter().map(|member| (badness(*member).bytes, explained(member.profile)));
    stands_for_all(&workers.collect::<Vec<_>>())
}

/// Of workers that are about as bad as the first, the one of most of whose blocks it is known who holds them; each is given as what grew in it, and the
/// number of these blocks.
fn stands_for_all(workers: &[(u64, u32)]) -> usize {
    let worst = workers.first().map_or(0, |&(bytes, _)| bytes);
    let about_as_bad = workers.iter().take_while(|&&(bytes, _)| bytes >= worst / 2).enumerate();
    about_as_bad.max_by_key(|&(at, &(_, explained))| (explained, Reverse(at))).map_or(0, |(at, _)| at)
}

/// Whether something is wrong with a process.
pub(super) fn is_at_fault(profile: &Profile) -> bool {
    profile.verdict().is_some_and(|verdict| severity(verdict) > 0)
}

/// Verdicts that something is wrong, in the order of their weight; 0: nothing is.
fn severity(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Leak => 4,
        Verdict::Lost => 3,
        Verdict::GrowthUnexplained => 2,
        Verdict::Growth => 1,
        Verdict::Plateau | Verdict::Clean | Verdict::TooShort => 0,
    }
}

/// How bad it is with a process, by what counts first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Badness {
    /// See [`severity`].
    severity: u8,
    /// What grew or is lost.
    bytes: u64,
}

fn badness(member: Member<'_>) -> Badness {
    let profile = member.profile;
    let severity = profile.verdict().map_or(0, severity);
    if severity == 0 {
        return Badness::default();
    }
    let findings = &profile.diagnosis.findings;
    let grown: f64 = findings.iter().map(|finding| finding.trend.rise.max(0.0)).sum();
    let bytes = profile.lost(LeakKind::DefinitelyLost).bytes.get().saturating_add(grown as u64);
    Badness { severity, bytes }
}

/// Processes of one parent that run the same: replaced by each other, or side by side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RoleKey<'a> {
    parent: Pid,
    forked: bool,
    /// The words without their digits: numbers of descriptors differ between equal workers.
    command: Vec<&'a str>,
}

impl<'a> RoleKey<'a> {
    fn of(row: &'a ProcessRow) -> Self {
        let words = row.command.iter().flat_map(|word| word.split(|c: char| c.is_ascii_digit()));
        Self {
            parent: row.parent,
            forked: row.forked,
            command: words.filter(|part| !part.is_empty()).collect(),
        }
    }
}

/// What processes of one group have in common: their role, their verdict, and the rule and the line of their first finding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GroupKey<'a> {
    role: RoleKey<'a>,
    counts: bool,
    verdict: Option<&'static str>,
    finding: Option<(&'static str, Option<&'a str>, Option<u32>)>,
}

impl<'a> GroupKey<'a> {
    fn of(member: Member<'a>, counts: bool) -> Self {
        let profile = member.profile;
        let finding = |finding: &Finding| {
            let line = finding.line(profile);
            (finding.rule.id, line.and_then(|line| line.file.as_deref()), line.and_then(|line| line.line))
        };
        Self {
            role: RoleKey::of(member.row),
            counts,
            verdict: profile.verdict().map(Verdict::name),
            finding: profile.diagnosis.findings.first().map(finding),
        }
    }
}

/// How long the processes of each role lived.
struct Lives<'a> {
    roles: HashMap<RoleKey<'a>, Life>,
    /// The process that stands for the command.
    main: Option<Pid>,
    pids: HashSet<Pid>,
    run: f64,
}

/// The lives of the processes of one role.
#[derive(Clone, Copy, Debug)]
struct Life {
    count: f64,
    /// How long they lived, added up.
    sum: f64,
    first: Nanos,
    last: Nanos,
    /// How many ended by themselves, and succeeded.
    succeeded: f64,
}

impl<'a> Lives<'a> {
    fn of(members: &[Member<'a>], main: Option<Pid>) -> Self {
        let mut roles: HashMap<RoleKey<'a>, Life> = HashMap::new();
        for Member { row, .. } in members {
            let none = Life { count: 0.0, sum: 0.0, first: row.start, last: row.finish, succeeded: 0.0 };
            let life = roles.entry(RoleKey::of(row)).or_insert(none);
            life.count += 1.0;
            life.sum += seconds(row);
            (life.first, life.last) = (life.first.min(row.start), life.last.max(row.finish));
            life.succeeded += if has_succeeded(row) { 1.0 } else { 0.0 };
        }
        let first = members.iter().map(|member| member.row.start).min().unwrap_or_default();
        let last = members.iter().map(|member| member.row.finish).max().unwrap_or_default();
        let pids = members.iter().map(|member| member.row.pid).collect();
        Self { roles, main, pids, run: between(first, last) }
    }

    /// Whether what a process comes to is a part of what the tree does. Programs that a shell ran are what the user ran.
    fn counts(&self, member: Member<'_>) -> bool {
        let Member { row, profile } = member;
        if Some(row.pid) == self.main || !self.pids.contains(&row.parent) {
            return true;
        }
        let has_lost = profile.lost(LeakKind::DefinitelyLost).blocks > 0;
        let is_replaced = !has_lost && self.roles.get(&RoleKey::of(row)).is_some_and(Life::is_replaced);
        // A compiler that the program ran frees nothing before it exits.
        let is_on_the_way = !row.forked
            && profile.diagnosis.how == How::Time
            && has_succeeded(row)
            && seconds(row) < ON_THE_WAY * self.run;
        !is_replaced && !is_on_the_way
    }
}

impl Life {
    /// Most of them must have ended by themselves: workers that are killed and started again leak.
    fn is_replaced(&self) -> bool {
        let period = between(self.first, self.last);
        self.count > 1.0
            && 4.0 * self.succeeded >= 3.0 * self.count
            && self.sum <= REPLACED * period * self.count
    }
}

fn has_succeeded(row: &ProcessRow) -> bool {
    row.end == ProcessEnd::Ended(Exit::Code(0))
}

fn seconds(row: &ProcessRow) -> f64 {
    between(row.start, row.finish)
}

fn between(start: Nanos, finish: Nanos) -> f64 {
    finish.get().saturating_sub(start.get()) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use heaplens_format::Bytes;
    use heaplens_format::recording::Amount;

    use super::*;
    use crate::diagnose::Diagnosis;
    use crate::diagnose::testing::growth;
    use crate::profile::{LeakRecord, Leaks, StackId};

    const PARENT: u32 = 1;

    /// A process that lived from one second to another and succeeded, and its profile.
    fn lived(pid: u32, [start, finish]: [u64; 2], verdict: Verdict) -> (ProcessRow, Profile) {
        let second = |second: u64| Nanos::new(second * 1_000_000_000);
        let row = ProcessRow {
            pid: Pid::new(pid),
            parent: Pid::new(if pid == PARENT { 0 } else { PARENT }),
            command: vec!["python".into(), "pool.py".into()],
            forked: pid != PARENT,
            start: second(start),
            finish: second(finish),
            end: ProcessEnd::Ended(Exit::Code(0)),
            shown: pid == PARENT,
            live: Bytes::ZERO,
            peak: Bytes::ZERO,
            rss: None,
        };
        let mut diagnosis = Diagnosis::default();
        diagnosis.verdict = Some(verdict);
        (row, Profile { pid: Some(Pid::new(pid)), diagnosis, ..Profile::default() })
    }

    fn tree(processes: Vec<(ProcessRow, Profile)>) -> Profile {
        let (rows, mut profiles): (Vec<_>, Vec<_>) = processes.into_iter().unzip();
        let shown = profiles.remove(0);
        Profile { processes: rows, others: profiles, main: shown.pid, ..shown }
    }

    fn grown((row, mut profile): (ProcessRow, Profile), bytes: f64) -> (ProcessRow, Profile) {
        profile.diagnosis.findings = vec![Finding { sites: Vec::new(), ..growth(0, bytes) }];
        (row, profile)
    }

    #[test]
    fn a_worker_that_leaks_makes_the_verdict_of_the_tree_though_the_parent_is_clean() {
        let run = tree(vec![
            lived(PARENT, [0, 10], Verdict::Clean),
            grown(lived(2, [1, 9], Verdict::Leak), 1e6),
            grown(lived(3, [1, 9], Verdict::Leak), 2e6),
            lived(4, [1, 9], Verdict::Plateau),
        ]);
        assert_eq!((run.verdict(), run.tree_verdict()), (Some(Verdict::Clean), Some(Verdict::Leak)));
        assert_eq!(run.worst().pid, Some(Pid::new(3)), "the one that grew most");
        let sizes: Vec<(usize, bool)> =
            run.groups().iter().map(|group| (group.members.len(), group.is_at_fault())).collect();
        assert_eq!(sizes, [(2, true), (1, false), (1, false)], "equal workers are one group");
    }

    #[test]
    fn of_equal_workers_the_one_that_explains_most_stands_for_all() {
        let chosen = |workers: &[(u64, u32)]| stands_for_all(workers);
        assert_eq!(chosen(&[(100, 4), (99, 12), (60, 12), (49, 500)]), 1, "the last one is half as bad");
        assert_eq!((chosen(&[(100, 0), (99, 0)]), chosen(&[])), (0, 0));
    }

    #[test]
    fn where_nothing_is_wrong_the_commands_own_process_has_the_word() {
        let run = tree(vec![lived(PARENT, [0, 9], Verdict::Clean), lived(2, [1, 8], Verdict::Plateau)]);
        assert_eq!(run.tree_verdict(), Some(Verdict::Clean));
        assert_eq!(Profile::default().tree_verdict(), None);
    }

    #[test]
    fn workers_that_are_replaced_do_not_make_the_tree_grow() {
        let worker = |n: u64| lived(2 + n as u32, [n, n + 1], Verdict::Leak);
        let mut processes: Vec<_> = (0..20).map(worker).collect();
        processes.insert(0, lived(PARENT, [0, 20], Verdict::Clean));
        let run = tree(processes.clone());
        assert_eq!(run.tree_verdict(), Some(Verdict::Clean));
        assert_eq!(run.groups().iter().map(|group| group.counts).collect::<Vec<_>>(), [true, false]);
        // Killed and started again is not replaced.
        processes[1..].iter_mut().for_each(|(row, _)| row.end = ProcessEnd::Unknown);
        assert_eq!(tree(processes).tree_verdict(), Some(Verdict::Leak));
    }

    #[test]
    fn a_program_that_ran_on_the_way_gave_its_memory_back() {
        let started = |seconds: u64| {
            let (row, profile) = lived(2, [1, 1 + seconds], Verdict::GrowthUnexplained);
            tree(vec![lived(PARENT, [0, 20], Verdict::Clean), (ProcessRow { forked: false, ..row }, profile)])
        };
        assert_eq!(started(5).tree_verdict(), Some(Verdict::Clean));
        assert_eq!(started(15).tree_verdict(), Some(Verdict::GrowthUnexplained), "it is most of the run");
        // What a shell runs is what the user runs.
        let mut of_shell = started(5);
        of_shell.processes[1].parent = Pid::new(77);
        assert_eq!(of_shell.tree_verdict(), Some(Verdict::GrowthUnexplained));
    }

    #[test]
    fn what_a_program_that_ran_on_the_way_lost_is_its_own_affair() {
        let (row, mut profile) = lived(2, [1, 3], Verdict::Clean);
        profile.leaks = Some(Leaks::Done(vec![lost_block()]));
        let run = |row| tree(vec![lived(PARENT, [0, 20], Verdict::Clean), (row, profile.clone())]);
        assert_eq!(run(ProcessRow { forked: false, ..row.clone() }).tree_verdict(), Some(Verdict::Clean));
        assert_eq!(run(row).tree_verdict(), Some(Verdict::Lost), "a worker is the program's own");
    }

    fn lost_block() -> LeakRecord {
        LeakRecord {
            kind: LeakKind::DefinitelyLost,
            direct: Amount { bytes: Bytes::new(40), blocks: 1 },
            indirect: Amount::default(),
            stack: StackId::default(),
        }
    }

    #[test]
    fn lost_blocks_count_in_every_worker() {
        let mut processes: Vec<_> =
            (0..8).map(|n| lived(2 + n, [n.into(), u64::from(n) + 1], Verdict::Clean)).collect();
        processes[3].1.leaks = Some(Leaks::Done(vec![lost_block()]));
        processes.insert(0, lived(PARENT, [0, 20], Verdict::Clean));
        assert_eq!(tree(processes).tree_verdict(), Some(Verdict::Lost));
    }

    #[test]
    fn losses_of_all_processes_are_added_up_by_kind() {
        let line = |what: &str, count, of| LossLine { what: what.into(), count, of };
        let mut run = tree(vec![
            lived(PARENT, [0, 9], Verdict::Clean),
            lived(2, [1, 8], Verdict::Clean),
            lived(3, [1, 8], Verdict::Clean),
        ]);
        run.others[0].losses = vec![line("marks", 2, None), line("stacks", 1, Some(10))];
        run.others[1].losses = vec![line("stacks", 2, Some(20))];
        let pids = |pids: &[u32]| pids.iter().map(|&pid| Pid::new(pid)).collect();
        let expected = [
            TreeLoss { line: line("marks", 2, None), pids: pids(&[2]) },
            TreeLoss { line: line("stacks", 3, Some(30)), pids: pids(&[2, 3]) },
        ];
        assert_eq!(run.tree_losses(), expected);
    }
}
