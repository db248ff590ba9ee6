//! The end of every page: other processes of the run, losses, and the overhead of Heaplens.

use std::io;

use heaplens_analyze::Profile;

use super::page::Page;
use crate::catalogue::number::{count, percent, seconds, size};
use crate::catalogue::process::{OtherProcesses, other_processes, tree_loss_words};

/// Processes beside the one shown that are named.
const OTHERS: usize = 8;

/// Losses that are named.
const LOSSES: usize = 12;

pub(super) fn write_other_processes(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let others = other_processes(profile);
    if others.is_empty() {
        return Ok(());
    }
    page.title(&format!(
        "{:<27}{:>11}{:>14}   {:<20}{}",
        "Other processes", "at exit", "at peak", "verdict", "command"
    ))?;
    for other in others.iter().take(OTHERS) {
        let (live, peak) = (size(other.live), size(other.peak));
        let OtherProcesses { name, end, verdict, command, .. } = other;
        page.line(&format!("  {name:>12}  {end:<12} {live:>11}{peak:>14}   {verdict:<20}{command}"))?;
    }
    match others.len().saturating_sub(OTHERS) {
        0 => Ok(()),
        more => page.line(&format!("                {} more", count(more as u64))),
    }
}

pub(super) fn write_losses(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let damage = profile.damage.iter().map(|damage| format!("the recording is damaged {damage}"));
    let lost = profile.tree_losses();
    let losses: Vec<String> = lost.iter().map(|loss| tree_loss_words(profile, loss)).chain(damage).collect();
    if losses.is_empty() {
        page.line("")?;
        return page.line("  No allocation events lost, no stacks truncated.");
    }
    page.title("Lost or truncated")?;
    for loss in losses.iter().take(LOSSES) {
        page.line(&format!("    {loss}"))?;
    }
    match losses.len().saturating_sub(LOSSES) {
        0 => Ok(()),
        more => page.line(&format!("    {} more", count(more as u64))),
    }
}

pub(super) fn write_cost(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let cost = &profile.cost;
    let cpu = match cost.share() {
        Some(share) => {
            let (own, all) = (seconds(cost.agent_cpu), seconds(cost.total_cpu));
            format!("{} of the CPU time ({own} of {all})", percent(share))
        }
        None => format!("{} of CPU time", seconds(cost.agent_cpu)),
    };
    page.line("")?;
    let (arena, private) = (size(cost.arena), size(cost.private));
    page.line(&format!("  Heaplens overhead: {cpu} · arena {arena} · private {private}"))
}
