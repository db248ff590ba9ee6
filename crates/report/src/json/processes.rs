//! The processes of the run, each with its verdict, and the tree as a whole.

use heaplens_analyze::diagnose::Verdict;
use heaplens_analyze::{Member, ProcessGroup, Profile};
use heaplens_format::Pid;
use heaplens_format::recording::Rss;

use super::findings::{FindingFields, RssFields, findings, rss};
use super::iterations::{IterationFields, iterations};
use super::{LossFields, damage, loss};
use crate::catalogue::process::crowd;

#[derive(serde::Serialize)]
pub(super) struct ProcessFields<'a> {
    pid: u32,
    parent: u32,
    command: String,
    /// Whether the rest of the report is about it.
    main: bool,
    /// Whether it began by `fork` and went on without `exec`.
    forked: bool,
    live_bytes: u64,
    peak_bytes: u64,
    verdict: Option<&'static str>,
    /// Whether the verdict on the tree is also made of this one.
    counts: bool,
    rss: Option<RssFields>,
    iterations: IterationFields<'a>,
    bytes_per_iteration: Option<f64>,
    findings: Option<Vec<FindingFields<'a>>>,
    losses: Vec<LossFields>,
    recorded: bool,
    why_not: Option<&'static str>,
    /// What it is one of: `8 workers`.
    role: Option<String>,
}

/// All that were recorded, in the order in which they began.
pub(super) fn processes(profile: &Profile) -> Vec<ProcessFields<'_>> {
    let groups = profile.groups();
    let members = groups.iter().flat_map(|group| group.members.iter().map(move |&member| (member, group)));
    let mut members: Vec<(Member<'_>, &ProcessGroup<'_>)> = members.collect();
    members.sort_by_key(|(member, _)| profile.processes.iter().position(|row| row.pid == member.row.pid));
    members.into_iter().map(|(member, group)| process(member, group)).collect()
}

fn process<'a>(Member { row, profile }: Member<'a>, group: &ProcessGroup<'_>) -> ProcessFields<'a> {
    ProcessFields {
        pid: row.pid.get(),
        parent: row.parent.get(),
        command: row.command.join(" "),
        main: row.shown,
        forked: row.forked,
        live_bytes: row.live.get(),
        peak_bytes: row.peak.get(),
        verdict: profile.verdict().map(Verdict::name),
        counts: group.counts,
        rss: rss(profile),
        iterations: iterations(profile),
        bytes_per_iteration: profile.verdict().map(|_| profile.diagnosis.pace()),
        findings: findings(profile),
        losses: profile.losses.iter().map(loss).collect(),
        recorded: true,
        why_not: None,
        role: (group.members.len() > 1).then(|| crowd(group)),
    }
}

#[derive(serde::Serialize)]
pub(super) struct WholeTree {
    verdict: &'static str,
    /// The process that the verdict is taken from.
    worst_pid: Option<u32>,
    processes: usize,
    rss: Option<TreeRss>,
    losses: Vec<LossFields>,
}

/// Pages that several processes have count for each.
#[derive(serde::Serialize)]
struct TreeRss {
    start: u64,
    end: u64,
    peak: u64,
}

/// `None` where nothing was recorded.
pub(super) fn tree(profile: &Profile) -> Option<WholeTree> {
    let worst = profile.worst();
    let verdict = worst.verdict()?;
    let lost = profile.tree_losses();
    Some(WholeTree {
        verdict: verdict.name(),
        worst_pid: worst.pid.map(Pid::get),
        processes: profile.processes.len(),
        rss: profile.tree_rss.map(|Rss { start, peak, end }| TreeRss {
            start: start.get(),
            end: end.get(),
            peak: peak.get(),
        }),
        losses: lost.iter().map(|lost| loss(&lost.line)).chain(damage(profile)).collect(),
    })
}
