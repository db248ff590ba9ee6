//! The end of every page: other processes of the run, losses, and the overhead of Heaplens.

use std::io;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::ProcessRow;

use super::page::Page;
use crate::catalogue::number::{count, percent, seconds, size};
use crate::catalogue::process::{loss_words, process_end};
use crate::catalogue::wording::one_line;

/// Processes beside the one shown that are named.
const OTHERS: usize = 8;

/// Losses that are named.
const LOSSES: usize = 12;

pub(super) fn write_other_processes(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let mut others: Vec<&ProcessRow> = profile.processes.iter().filter(|row| !row.shown).collect();
    if others.is_empty() {
        return Ok(());
    }
    others.sort_by_key(|row| std::cmp::Reverse(row.peak));
    page.title(&format!("{:<23}{:>11}{:>14}   {}", "Other processes", "at exit", "at peak", "command"))?;
    for row in others.iter().take(OTHERS) {
        let (live, peak) = (size(row.live), size(row.peak));
        let command = one_line(&row.command.join(" "));
        let end = process_end(row.end);
        page.line(&format!("  {:>8}  {end:<12} {live:>11}{peak:>14}   {command}", row.pid.get()))?;
    }
    match others.len().saturating_sub(OTHERS) {
        0 => Ok(()),
        more => page.line(&format!("            {} more", count(more as u64))),
    }
}

pub(super) fn write_losses(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let damage = profile.damage.iter().map(|damage| format!("the recording is damaged {damage}"));
    let losses: Vec<String> = profile.losses.iter().map(loss_words).chain(damage).collect();
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
