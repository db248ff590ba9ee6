//! The first lines of the page: the verdict, and what grows.

use std::io;

use heaplens_analyze::diagnose::Finding;
use heaplens_analyze::{Profile, remarks};

use super::errors;
use super::lost;
use super::page::Page;
use crate::catalogue::evidence;
use crate::catalogue::facts::{amount, call_path, facts, share_words};
use crate::catalogue::number::count;
use crate::catalogue::process::subject_of;
use crate::catalogue::stack::location::frame_text;
use crate::catalogue::verdict::{below_floor, tree_verdict_line, verdict_line};
use crate::catalogue::wording::{one_line, plural, wrapped};

/// Findings that are shown.
const SHOWN: usize = 4;
/// Indent of the text of a finding.
const INDENT: usize = 16;
/// Width of a title.
const TITLE: usize = 66;

/// Findings of processes that the page is not about, and groups of these.
const SHOWN_OF_OTHERS: usize = 2;
const OTHERS: usize = 3;

/// Writes the verdict and the findings, then those of other processes with which something is wrong.
pub(super) fn write(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let Some(verdict) = profile.verdict() else { return Ok(()) };
    page.line("")?;
    page.emphasised("  ", &tree_verdict_line(profile, verdict))?;
    for remark in remarks(profile).filter_map(|(_, remark)| remark) {
        page.wrapped("  ", &one_line(&remark.text))?;
    }
    if let Some(text) = below_floor(profile) {
        page.wrapped("  ", &one_line(&text))?;
    }
    errors::write_short(profile, page)?;
    write_findings(profile, page, 1, SHOWN)?;
    write_others(profile, page)
}

/// Findings of one process, numbered from `first` on.
fn write_findings(profile: &Profile, page: &mut Page<'_>, first: usize, most: usize) -> io::Result<()> {
    let findings = &profile.diagnosis.findings;
    for (rank, finding) in (first..).zip(findings.iter().take(most)) {
        page.line("")?;
        write_finding(profile, page, rank, finding)?;
    }
    match findings.len().saturating_sub(most) {
        0 => Ok(()),
        more => {
            page.line("")?;
            let findings = plural(more as u64, "finding");
            page.line(&format!("     {} more {findings} in the JSON report", count(more as u64)))
        }
    }
}

/// The verdict and the findings of each group of other processes, the worst first.
fn write_others(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let groups = profile.groups();
    let mut first = 1 + profile.diagnosis.findings.len().min(SHOWN);
    for group in groups.iter().filter(|group| group.is_at_fault() && !group.has(profile.pid)).take(OTHERS) {
        let other = group.worst().profile;
        let Some(verdict) = other.verdict() else { continue };
        page.line("")?;
        page.emphasised("  ", &format!("{}{}", subject_of(group), verdict_line(other, verdict)))?;
        write_findings(other, page, first, SHOWN_OF_OTHERS)?;
        lost::write(other, page)?;
        first += other.diagnosis.findings.len().min(SHOWN_OF_OTHERS);
    }
    Ok(())
}

fn write_finding(profile: &Profile, page: &mut Page<'_>, rank: usize, finding: &Finding) -> io::Result<()> {
    let share = share_words(finding).map_or_else(String::new, |share| format!("   {share}"));
    let (title, per) = (finding.title(profile), amount(profile, finding));
    page.emphasised(
        &format!("  {rank}  "),
        &format!("{title:<TITLE$}{per:>22}{share}", TITLE = TITLE.saturating_sub(5)),
    )?;
    write_location(profile, page, finding)?;
    facts(profile, finding).iter().try_for_each(|(name, text)| write_fact(page, name, text))
}

/// The line with its source, and its callers.
fn write_location(profile: &Profile, page: &mut Page<'_>, finding: &Finding) -> io::Result<()> {
    let room = page.options.width.saturating_sub(INDENT);
    let Some(line) = finding.representative.and_then(|_| finding.line(profile)) else { return Ok(()) };
    page.line(&format!("         {}", frame_text(line, room)))?;
    if let Some(source) = evidence::source(profile, finding) {
        page.line(&format!("             {}", one_line(&source)))?;
    }
    for (at, text) in call_path(profile, finding, room).iter().enumerate() {
        let name = if at == 0 { "stack" } else { "" };
        page.line(&format!("     {name:<11}{text}"))?;
    }
    Ok(())
}

fn write_fact(page: &mut Page<'_>, name: &str, text: &str) -> io::Result<()> {
    let room = page.options.width.saturating_sub(INDENT);
    for (at, line) in wrapped(text, room).iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        page.line(&format!("     {name:<11}{line}"))?;
    }
    Ok(())
}
