//! A text to be pasted into an issue: versions, verdict, the first finding with its evidence, the ledger. Markdown. Of the
//! user's data it has only names of files and functions, and line numbers: no folders, no source, no arguments, no keys of dictionaries.

use std::borrow::Cow;
use std::io::{self, Write};

use heaplens_analyze::diagnose::{Finding, How};
use heaplens_analyze::packages::{Package, packages};
use heaplens_analyze::profile::StackFrame;
use heaplens_analyze::{HolderOf, Profile};
use heaplens_format::recording::{Ledger, PathNode, Step};

use crate::catalogue::ledger::{SMALLEST, mib};
use crate::catalogue::number::{count, percent, seconds, size};
use crate::catalogue::process::{iterations as loop_words, python_name, tree_loss_words};
use crate::catalogue::stack::fold;
use crate::catalogue::stack::label::{file_name, label};
use crate::catalogue::stack::mixed::{self, FoldedLine};
use crate::catalogue::verdict::{rate, tree_verdict_line};
use crate::catalogue::wording::one_line;
use crate::catalogue::{facts, reference_path};

/// Lines of a stack.
const FRAMES: usize = 12;

/// Writes the text.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let Some(verdict) = profile.verdict() else {
        return writeln!(out, "Nothing was recorded.");
    };
    writeln!(out, "**Memory**: {}", tree_verdict_line(profile, verdict))?;
    writeln!(out)?;
    writeln!(out, "- program: {}", program(profile))?;
    writeln!(out, "- versions: {}", versions(profile, &packages(&profile.modules)))?;
    writeln!(out, "- iterations: {}", iterations(profile))?;
    if let Some(interval) = profile.sampled {
        writeln!(out, "- sampled every {} on average", size(interval))?;
    }
    if let Some(finding) = profile.diagnosis.findings.first() {
        write_finding(profile, finding, out)?;
    }
    write_ledger(profile, out)?;
    write_missed(profile, out)
}

/// `python train.py …`: the first word and the script, without their folders.
fn program(profile: &Profile) -> String {
    let mut words = profile.shown().map_or(&profile.run.command, |row| &row.command).iter();
    let mut parts: Vec<String> = words.next().map(|word| code(file_name(word))).into_iter().collect();
    let mut rest = words.peekable();
    if profile.python.is_some()
        && let Some(script) = rest.next_if(|word| !word.starts_with('-'))
    {
        parts.push(code(file_name(script)));
    }
    parts.extend(rest.peek().map(|_| "…".to_owned()));
    parts.push(format!("({})", seconds(profile.run.wall)));
    parts.join(" ")
}

fn versions(profile: &Profile, packages: &[Package]) -> String {
    let own = format!("heaplens {}", env!("CARGO_PKG_VERSION"));
    let python = profile.python.map(python_name);
    let packages = packages.iter().map(|package| format!("{} {}", package.name, package.version));
    [own].into_iter().chain(python).chain(packages).collect::<Vec<_>>().join(", ")
}

fn iterations(profile: &Profile) -> String {
    match (&profile.iterations, profile.diagnosis.how) {
        (_, How::Marks) => format!("{} (marks)", count(profile.diagnosis.count)),
        (Some(found), _) => loop_words(found),
        (None, _) => "no loop found, rates are per second".to_owned(),
    }
}

fn write_finding(profile: &Profile, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let (id, name) = (finding.rule.id, finding.rule.name);
    writeln!(out)?;
    writeln!(out, "**{}** (rule {id} {name})", finding.title(profile))?;
    writeln!(out)?;
    let share = finding.share.map_or_else(String::new, |share| format!(", {} of the growth", percent(share)));
    writeln!(out, "- grows: {}{share}", rate(profile, &finding.trend))?;
    for (name, text) in [
        ("live", facts::live(profile, finding)),
        ("threads", facts::threads(profile, finding)),
        ("held by", held_by(profile, finding)),
        ("why", finding.holder_rule(profile).map_or_else(String::new, |holder| holder.words.to_owned())),
        ("rate", facts::interval(profile, finding)),
        ("counted", facts::counted(profile, finding)),
        ("ruled out", facts::excluded(profile, finding)),
    ] {
        if !text.is_empty() {
            writeln!(out, "- {name}: {text}")?;
        }
    }
    write_stack(profile, finding, out)
}

/// Keys of dictionaries are the user's, but for numbers.
fn held_by(profile: &Profile, finding: &Finding) -> String {
    let held = match finding.holder(profile) {
        HolderOf::Registry(steps) => return code(&steps.join(" → ")),
        HolderOf::Nothing(_) | HolderOf::Unknown(_) => return String::new(),
        HolderOf::Path(held) => held,
    };
    let bare: Vec<PathNode> = held.steps.iter().map(|&step| without_key(step)).collect();
    code(&reference_path::path_text(&bare.iter().collect::<Vec<_>>()))
}

fn without_key(step: &PathNode) -> PathNode {
    let is_number = step.name.chars().all(|c| c.is_ascii_digit());
    let mut bare = step.clone();
    if step.step == Step::Key && !is_number {
        bare.name = "…".into();
    }
    bare
}

fn write_stack(profile: &Profile, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let Some(representative) = finding.representative.map(|representative| &profile.sites[representative])
    else {
        return Ok(());
    };
    let stack: Vec<&StackFrame> = profile.stack(representative).collect();
    let lines = match profile.python_line(representative) {
        Some(line) => mixed::fold(&stack, line, FRAMES),
        None => fold::fold(&stack, FRAMES).frames.into_iter().map(FoldedLine::Frame).collect(),
    };
    writeln!(out)?;
    writeln!(out, "```")?;
    for line in &lines {
        let words = match line {
            FoldedLine::Frame(frame) => location_text(frame),
            FoldedLine::Words(words) => words.clone(),
        };
        writeln!(out, "{}", one_line(&words).replace('`', "'"))?;
    }
    writeln!(out, "```")
}

fn location_text(frame: &StackFrame) -> String {
    let name = frame.function.clone().unwrap_or_else(|| label(frame).into());
    let at = frame.file.as_deref().map(|file| (file_name(file), frame.line));
    match at {
        Some((file, Some(line))) => format!("{file}:{line}  {name}"),
        Some((file, None)) => format!("{file}  {name}"),
        None => name.to_string(),
    }
}

fn write_ledger(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let Some(ledger) = &profile.ledger else { return Ok(()) };
    writeln!(out)?;
    writeln!(out, "| MiB | start | peak | end |")?;
    writeln!(out, "|---|--:|--:|--:|")?;
    let lines = profile.tables.counted(ledger.space.kind);
    let lines = lines.map(|row| (Cow::Borrowed(row.label), ledger.line(row.line)));
    let rss = (Cow::Borrowed("RSS"), ledger.moments(Ledger::program));
    for (name, moments) in lines.filter(|(_, moments)| moments.most() >= SMALLEST).chain([rss]) {
        let [start, peak, end] = [moments.start, moments.peak, moments.end].map(mib);
        writeln!(out, "| {name} | {start} | {peak} | {end} |")?;
    }
    Ok(())
}

fn write_missed(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let lost = profile.tree_losses();
    let losses: Vec<String> = lost.iter().map(|loss| tree_loss_words(profile, loss)).collect();
    if losses.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    writeln!(out, "Losses: {}", losses.join("; "))
}

/// As Markdown shows it, whatever is in it.
fn code(text: &str) -> String {
    format!("`{}`", one_line(text).replace('`', "'"))
}
