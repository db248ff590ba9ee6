//! Collapsed stacks, `outermost;…;innermost bytes`, of the heap bytes that are live at exit: what flamegraph.pl,
//! inferno and speedscope read. The lines add up to the live total to the byte.

use std::io::{self, Write};

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{SiteProfile, StackFrame};
use heaplens_format::Bytes;

use crate::catalogue::stack::label::{CUT, NO_STACK, label};

/// Writes one line for each site with live bytes, the largest first.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    for site in profile.heap_sites().filter(|site| site.live.bytes > Bytes::ZERO) {
        writeln!(out, "{} {}", line(profile, site), site.live.bytes.get())?;
    }
    Ok(())
}

fn line(profile: &Profile, site: &SiteProfile) -> String {
    joined(profile.stack(site), profile.cut(site).is_some())
}

/// A stack, innermost frame first, as one line.
pub(crate) fn joined<'a>(stack: impl Iterator<Item = &'a StackFrame>, is_cut: bool) -> String {
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

/// A semicolon ends a frame and a newline ends a stack: neither may stand in a name.
fn escape(name: &str) -> String {
    name.replace('\\', "\\\\").replace(';', "\\x3b").replace('\n', "\\n").replace('\r', "\\r")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_in_names_are_escaped() {
        assert_eq!(escape("a;b\nc\\d\r"), "a\\x3bb\\nc\\\\d\\r");
    }
}
