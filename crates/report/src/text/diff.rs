//! A comparison as a page: what could not be compared, the totals, the lines that grew or shrank, the ledger.

use std::io::{self, Write};

use heaplens_analyze::diff::{Change, Diff, LedgerChange, LineChange, Side, Total};
use heaplens_analyze::profile::StackFrame;
use heaplens_format::Bytes;
use heaplens_format::memory::Tables;

use super::page::{Options, Page};
use crate::catalogue::diff::{RecordingSide, sentence};
use crate::catalogue::number::{count, seconds, size};
use crate::catalogue::stack::label::{NO_STACK, file_name};
use crate::catalogue::stack::location::{frame_text, location};
use crate::catalogue::wording::{one_line, plural, plural_count};

/// Indent of the text of a line.
const INDENT: usize = 16;
/// Lines that are shown, of those that grew and of those that shrank.
const SHOWN: usize = 15;

/// Writes the page.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(
    diff: &Diff,
    from: RecordingSide<'_>,
    to: RecordingSide<'_>,
    options: Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page { options, out };
    page.line(&format!("heaplens diff  {} → {}", one_line(from.0), one_line(to.0)))?;
    page.line("")?;
    page.line(&format!("  from   {}", words(from.1)))?;
    page.line(&format!("  to     {}", words(to.1)))?;
    for note in &diff.notes {
        page.line("")?;
        page.wrapped("  note   ", &sentence(note))?;
    }
    totals(diff, &mut page)?;
    let (grew, shrank): (Vec<_>, Vec<_>) = diff.lines.iter().partition(|line| is_growth(&line.change));
    lines(&grew, "grew", &mut page)?;
    lines(&shrank, "shrank", &mut page)?;
    page.line("")?;
    page.line(&format!("  {}", unchanged(diff)))?;
    diff.ledger.as_ref().map_or(Ok(()), |ledger| write_ledger(ledger, to.1.profile.tables, &mut page))
}

/// `pass 120, 3.40 s · python train.py 200`: the command may be long and is cut.
fn words(side: &Side) -> String {
    let command = one_line(&side.profile.run.command.join(" "));
    let at = side.at.map_or_else(String::new, |at| format!(", {}", seconds(at)));
    format!("{}{at} · {command}", one_line(&moment(side)))
}

fn moment(side: &Side) -> String {
    match side.name.as_str() {
        "start" if side.at.is_none() => "start".to_owned(),
        "end" if side.at.is_none() && side.profile.knows_end_of_script => "end of the script".to_owned(),
        "end" if side.at.is_none() => "end".to_owned(),
        name => name.to_owned(),
    }
}

fn totals(diff: &Diff, page: &mut Page<'_>) -> io::Result<()> {
    page.title(&format!("{:<26}{:>12}{:>12}{:>13}", "Totals", "from", "to", "change"))?;
    for (total, change) in &diff.totals {
        let name = match total {
            Total::Rss => "RSS",
            Total::Of(category) => category.row().label,
        };
        let margin = change.margin().map_or_else(String::new, |margin| format!(" ± {}", size(margin.bytes)));
        let (from, to) = (size(change.from.bytes), size(change.to.bytes));
        let blocks = if *total == Total::Rss { String::new() } else { blocks(change.blocks()) };
        let more = signed(change.bytes());
        page.line(&format!("    {name:<24}{from:>12}{to:>12}{more:>13}{margin}{blocks}"))?;
    }
    Ok(())
}

fn is_growth(change: &Change) -> bool {
    change.bytes() > 0 || change.bytes() == 0 && change.blocks() > 0
}

fn lines(lines: &[&LineChange], what: &str, page: &mut Page<'_>) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let number = lines.len() as u64;
    page.title(&format!("{} {what}", plural_count(number, "line")))?;
    for line in lines.iter().take(SHOWN) {
        write_line(line, page)?;
    }
    match lines.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => {
            let bytes: i64 = lines.iter().skip(SHOWN).map(|line| line.change.bytes()).sum();
            page.line(&format!("  {:>12}  {} more in the JSON", signed(bytes), count(more as u64)))
        }
    }
}

fn write_line(line: &LineChange, page: &mut Page<'_>) -> io::Result<()> {
    let room = page.options.width.saturating_sub(INDENT);
    let change = &line.change;
    let name = line.line().map_or_else(|| NO_STACK.to_owned(), |frame| name_of_line(frame, room));
    page.emphasised(&format!("  {:>12}  ", signed(change.bytes())), &name)?;
    if let Some(source) = &line.source {
        page.line(&format!("{:INDENT$}    {}", "", one_line(source)))?;
    }
    let margin = change.margin().filter(|margin| margin.bytes > Bytes::ZERO);
    let margin = margin.map_or_else(String::new, |margin| format!(" ± {}", size(margin.bytes)));
    let (from, to) = (size(change.from.bytes), size(change.to.bytes));
    page.line(&format!("{:INDENT$}{from} → {to}{margin}{}{}", "", blocks(change.blocks()), moved(line)))
}

fn name_of_line(frame: &StackFrame, room: usize) -> String {
    let is_nameless = frame.function.is_none() && frame.file.is_none() && frame.offset == 0;
    match &frame.module {
        Some(module) if is_nameless => format!("unknown code in {}", one_line(file_name(module))),
        None if is_nameless => "code outside any file".to_owned(),
        _ => frame_text(frame, room),
    }
}

/// Where the line was, where that differs.
fn moved(line: &LineChange) -> String {
    let (Some(from), Some(to)) = (&line.from, &line.to) else { return String::new() };
    match location(from).filter(|was| from.line != to.line && Some(was) != location(to).as_ref()) {
        Some(was) => format!(" · was {was}"),
        None => String::new(),
    }
}

/// ` · 100 more blocks`.
fn blocks(change: i64) -> String {
    let number = change.unsigned_abs();
    match change {
        0 => String::new(),
        1.. => format!(" · {} more {}", count(number), plural(number, "block")),
        _ => format!(" · {} fewer {}", count(number), plural(number, "block")),
    }
}

fn unchanged(diff: &Diff) -> String {
    let number = diff.unchanged as u64;
    let lines = plural_count(number, "line");
    match (diff.lines.is_empty(), number) {
        (true, _) => format!("No change in {lines}."),
        (false, 0) => "No other line has live memory.".to_owned(),
        (false, _) => format!("{lines} unchanged, or changed by less than their margin."),
    }
}

fn write_ledger(ledger: &LedgerChange, tables: Tables, page: &mut Page<'_>) -> io::Result<()> {
    page.title(&format!("{:<26}{:>12}{:>12}{:>13}", "Ledger", "from", "to", "change"))?;
    for (line, row) in &ledger.lines {
        write_row(page, tables.line(*line).label, (row.from, row.to), row.bytes())?;
    }
    write_row(page, "RSS", (ledger.rss.from, ledger.rss.to), ledger.rss.bytes())?;
    let [from, to] = ledger.at.map(seconds);
    page.line(&format!("    Read at {from} and at {to}."))
}

fn write_row(page: &mut Page<'_>, name: &str, (from, to): (Bytes, Bytes), change: i64) -> io::Result<()> {
    let (from, to, change) = (size(from), size(to), signed(change));
    page.line(&format!("    {name:<24}{from:>12}{to:>12}{change:>13}"))
}

/// `+1.18 MiB`.
fn signed(bytes: i64) -> String {
    let sign = if bytes < 0 { '−' } else { '+' };
    match bytes {
        0 => "0 B".to_owned(),
        _ => format!("{sign}{}", size(Bytes::new(bytes.unsigned_abs()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_sign() {
        assert_eq!([0, 5, -1024].map(signed), ["0 B", "+5 B", "−1.00 KiB"]);
        assert_eq!(blocks(-1), " · 1 fewer block");
    }
}
