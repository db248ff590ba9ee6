//! The top of every page: the command and how it ended; and the figures of the run below the findings.

use std::io;

use heaplens_analyze::Profile;
use heaplens_analyze::diagnose::How;
use heaplens_analyze::profile::{Category, Measure};
use heaplens_format::Bytes;
use heaplens_format::recording::Reading;

use super::ledger;
use super::page::Page;
use crate::catalogue::number::{count, percent, seconds, size};
use crate::catalogue::process::{ending, is_running, iterations, python_name, why_unread};
use crate::catalogue::wording::{cut, one_line, plural, plural_count};

/// Marks that are named at either end.
const MARKS: usize = 2;

pub(super) fn write_command(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let end = if is_running(profile) { "still running".to_owned() } else { ending(profile.exit) };
    let mut parts = vec![profile.run.command.join(" "), end];
    if profile.run.wall.get() > 0 {
        parts.push(seconds(profile.run.wall));
    }
    if let Some(share) = profile.cost.share() {
        parts.push(format!("Heaplens used {} of the CPU time", percent(share)));
    }
    // The command may be long; what follows it must not be lost.
    let rest = parts[1..].join(" · ");
    let room = page.options.width.saturating_sub(rest.chars().count() + "heaplens   · ".len()).max(20);
    let command = cut(&one_line(&parts[0]), room);
    page.line(&format!("heaplens  {command} · {rest}"))
}

/// The process that the page is about, where that is not the command's own.
pub(super) fn write_process(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    match profile.shown() {
        Some(row) if row.forked && profile.pid != profile.main => {
            page.line(&format!("  process         {} (forked by process {})", row.pid, row.parent))
        }
        Some(row) if row.command != profile.run.command => {
            page.line(&format!("  process         {} ({})", row.pid, one_line(&row.command.join(" "))))
        }
        _ => Ok(()),
    }
}

pub(super) fn write_figures(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    page.line("")?;
    write_process(profile, page)?;
    if let Some(rss) = profile.rss {
        let [start, peak, end] = [rss.start, rss.peak, rss.end].map(size);
        let last = if is_running(profile) { "now" } else { "end" };
        page.line(&format!("  RSS             start {start} · peak {peak} · {last} {end}"))?;
    }
    ledger::write_tree(profile, page)?;
    if profile.diagnosis.how == How::Marks {
        let of = profile.diagnosis.runs.unwrap_or("marks set by the program");
        page.line(&format!("  iterations      {} ({of})", count(profile.diagnosis.count)))?;
    } else if let Some(found) = &profile.iterations {
        page.line(&format!("  iterations      {}", iterations(found)))?;
    }
    if profile.knows_end_of_script {
        measure(page, "live at end", profile.heap().held)?;
        page.line(&format!("{:18}at the end of the script, before interpreter shutdown", ""))?;
    }
    marks(profile, page)?;
    let live = if is_running(profile) { "live now" } else { "live at exit" };
    measure(page, live, profile.heap().live)?;
    measure(page, "live at peak", profile.heap().peak)?;
    measure(page, "allocated", profile.heap().allocated)?;
    objects(profile, page)?;
    mapped(profile, page)?;
    reclaim_test(profile, page)?;
    guarded_blocks(profile, page)?;
    if let Some(python) = profile.python.filter(|python| python.reading != Reading::Frames) {
        page.line(&format!("  {:<15} {}", python_name(python), why_unread(python.reading)))?;
    }
    if let Some(interval) = profile.sampled {
        let text = "  sampled         every {} on average: all figures are estimates, ± is the 95 % confidence interval";
        page.line(&text.replace("{}", &size(interval)))?;
    }
    Ok(())
}

/// The user's own marks with what was live then: the first and the last of them.
fn marks(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let named = profile.marks.iter().filter_map(|mark| mark.label.as_deref().zip(Some(mark.live)));
    let mut words: Vec<String> =
        named.map(|(label, live)| format!("{} {}", one_line(label), size(live))).collect();
    if words.is_empty() {
        return Ok(());
    }
    if let Some(hidden) = words.len().checked_sub(2 * MARKS).filter(|&hidden| hidden > 0) {
        words.splice(MARKS..MARKS + hidden, [format!("… {} more …", count(hidden as u64))]);
    }
    page.line(&format!("  live at marks   {}", words.join(" · ")))
}

fn measure(page: &mut Page<'_>, what: &str, measure: Measure) -> io::Result<()> {
    let margin = measure.margin.map_or_else(String::new, |margin| format!(" ± {}", size(margin.bytes)));
    let blocks = measure.margin.map_or_else(String::new, |margin| format!(" ± {}", count(margin.blocks)));
    let (bytes, number) = (size(measure.bytes), count(measure.blocks));
    page.line(&format!(
        "  {what:<15} {bytes}{margin} in {number}{blocks} {}",
        plural(measure.blocks, "block")
    ))
}

/// Small Python objects: they are in mapped memory, so they are not part of the heap's figures.
fn objects(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let Some(interval) = profile.object_interval else { return Ok(()) };
    let (objects, when) = match profile.knows_end_of_script {
        true => (profile.total(Category::Objects).held, "at end"),
        false if is_running(profile) => (profile.total(Category::Objects).live, "now"),
        false => (profile.total(Category::Objects).live, "at exit"),
    };
    measure(page, "Python objects", objects)?;
    if interval > Bytes::new(1) {
        let every = size(interval);
        page.line(&format!(
            "{:18}small objects {when}, sampled every {every} on average; ± is the 95 % confidence interval",
            ""
        ))?;
    }
    page.line(&format!("{:18}objects reused from a free list count where they were first allocated", ""))
}

fn mapped(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let [anonymous, files] = [Category::Anonymous, Category::Files].map(|one| profile.total(one).live.bytes);
    if anonymous == Bytes::ZERO && files == Bytes::ZERO {
        return Ok(());
    }
    let when = if is_running(profile) { "mapped now" } else { "mapped at exit" };
    page.line(&format!("  {when:<15} {} anonymous · {} file-backed", size(anonymous), size(files)))
}

/// How many blocks had guard pages; those that should have had some and did not are losses.
fn guarded_blocks(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    match profile.errors.guarded_blocks {
        0 => Ok(()),
        number => page.line(&format!("  guard pages     {}", plural_count(number, "block"))),
    }
}

/// What gc.collect() and malloc_trim() gave back at the end.
fn reclaim_test(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let Some(test) = profile.reclaim_test else { return Ok(()) };
    let collected =
        test.collected.map(|found| format!("gc.collect() freed {}", size(found.heap + found.objects)));
    let trimmed =
        test.trimmed.map(|found| format!("malloc_trim(0) returned {} of RSS", size(found.returned())));
    let words: Vec<String> = collected.into_iter().chain(trimmed).collect();
    if words.is_empty() {
        return Ok(());
    }
    page.line(&format!("  reclaim test    {}", words.join(" · ")))
}
