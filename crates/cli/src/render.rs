//! Turning a profile into the bytes of a report, and putting bytes on a stream.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use heaplens_analyze::Profile;
use heaplens_report::{collapsed, html, json, text};
use rustix::termios::tcgetwinsize;

use crate::failure::Failure;
use crate::values::{Color, Format};

/// A terminal with fewer columns does not know its width.
const NARROWEST: usize = 40;

/// Bytes of a report in one of its forms.
pub(crate) fn render(profile: &Profile, format: Format, look: text::Options) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = match format {
        Format::Text => text::write_with(profile, look, &mut bytes),
        Format::Json => json::write(profile, &mut bytes),
        Format::Collapsed => collapsed::write(profile, &mut bytes),
    };
    written.expect("writing to memory does not fail");
    bytes
}

/// Bytes of the HTML page.
pub(crate) fn page(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    html::write(profile, &mut bytes).expect("writing to memory does not fail");
    bytes
}

/// Puts bytes on stdout. A reader that has gone away (`heaplens report … | head`) has seen enough.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// How a page looks on this stream: as wide as its terminal, and coloured as the user wishes.
pub(crate) fn look(wish: Color, stream: &(impl IsTerminal + AsFd)) -> text::Options {
    let usual = text::Options::default();
    let columns = tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col));
    let width = columns.filter(|&columns| columns >= NARROWEST).unwrap_or(usual.width);
    text::Options { width, colour: coloured(wish, stream.is_terminal()), ..usual }
}

/// How a page looks in a file.
pub(crate) fn plain() -> text::Options {
    text::Options::default()
}

fn coloured(wish: Color, is_terminal: bool) -> bool {
    match wish {
        Color::Always => true,
        Color::Never => false,
        // no-color.org: any value but the empty one counts.
        Color::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_for_colour_counts_more_than_the_stream() {
        assert!(coloured(Color::Always, false));
        assert!(!coloured(Color::Never, true));
        assert!(!coloured(Color::Auto, false));
    }

    #[test]
    fn a_stream_that_is_no_terminal_gets_the_usual_width() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(look(Color::Never, &file), plain());
    }
}
