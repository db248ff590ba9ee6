//! Collapsed stacks, `outermost;…;innermost bytes`: what flamegraph.pl, inferno and speedscope read. A difference has both numbers,
//! before and after, as differential flame graphs want them.

use std::io::{self, Write};

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{SiteProfile, StackFrame};
use heaplens_format::Bytes;

use super::samples::StackRow;
use super::{Samples, What};
use crate::catalogue::stack::label::{CUT, NO_STACK, label};
use crate::catalogue::wording::is_disruptive;

/// Writes one line for each stack that has any of it.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(samples: &Samples<'_>, what: What, out: &mut dyn Write) -> io::Result<()> {
    for row in &samples.rows {
        let [before, after] = row.sides(what).map(|bytes| bytes.max(0));
        match samples.is_difference {
            true if before > 0 || after > 0 => writeln!(out, "{} {before} {after}", line(row))?,
            false if after > 0 => writeln!(out, "{} {after}", line(row))?,
            _ => {}
        }
    }
    Ok(())
}

/// Writes the heap bytes that are live at exit, the largest site first. The lines add up to the live total to the byte.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_live(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    for site in profile.heap_sites().filter(|site| site.live.bytes > Bytes::ZERO) {
        writeln!(out, "{} {}", site_line(profile, site), site.live.bytes.get())?;
    }
    Ok(())
}

fn line(row: &StackRow<'_>) -> String {
    joined(row.frames.iter().copied(), row.is_cut)
}

fn site_line(profile: &Profile, site: &SiteProfile) -> String {
    joined(profile.stack(site), profile.cut(site).is_some())
}

/// A stack, innermost frame first, as one line.
fn joined<'a>(stack: impl Iterator<Item = &'a StackFrame>, is_cut: bool) -> String {
    let mut frames: Vec<String> = stack.map(|frame| escape(&label(frame))).collect();
    if is_cut {
        frames.push(CUT.to_owned());
    }
    if frames.is_empty() {
        frames.push(NO_STACK.to_owned());
    }
    frames.reverse();
    frames.join(";")
}

/// A semicolon ends a frame and a newline ends a stack: neither may occur in a name, nor what a terminal obeys.
fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            ';' => escaped.push_str("\\x3b"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            _ if is_disruptive(c) => escaped.extend(c.escape_unicode()),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_in_names_are_escaped() {
        assert_eq!(escape("a;b\nc\\d\r"), "a\\x3bb\\nc\\\\d\\r");
        assert_eq!(escape("a\u{1b}[2Jb\u{202e}"), "a\\u{1b}[2Jb\\u{202e}");
    }
}
