//! Formats a profile as a report, and writes to stdout.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use heaplens_analyze::Profile;
use heaplens_report::export::collapsed;
use heaplens_report::{html, json, text};
use rustix::termios::tcgetwinsize;

use crate::failure::Failure;
use crate::values::{Color, Format};

/// A terminal that reports fewer columns does not know its width.
const NARROWEST: usize = 40;

/// The report in the given format.
pub(crate) fn render(profile: &Profile, format: Format, options: text::Options) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = match format {
        Format::Text => text::write_with(profile, options, &mut bytes),
        Format::Json => json::write(profile, &mut bytes),
        Format::Collapsed => collapsed::write_live(profile, &mut bytes),
    };
    written.expect("writing to a Vec cannot fail");
    bytes
}

/// What each import costs.
pub(crate) fn import_tree(profile: &Profile, options: text::Options) -> Vec<u8> {
    let mut bytes = Vec::new();
    text::import_tree::write(profile, options, &mut bytes).expect("writing to a Vec cannot fail");
    bytes
}

/// The report as an HTML page.
pub(crate) fn html_page(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    html::write(profile, &mut bytes).expect("writing to a Vec cannot fail");
    bytes
}

/// Writes to stdout. A closed pipe (`heaplens report … | head`) is not an error.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Options for text on this stream: the width of its terminal, and color.
pub(crate) fn text_options(color: Color, stream: &(impl IsTerminal + AsFd)) -> text::Options {
    let default = text::Options::default();
    let columns = tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col));
    let width = columns.filter(|&columns| columns >= NARROWEST).unwrap_or(default.width);
    text::Options { width, colour: is_colored(color, stream.is_terminal()), ..default }
}

/// Options for text in a file.
pub(crate) fn plain() -> text::Options {
    text::Options::default()
}

fn is_colored(color: Color, is_terminal: bool) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        // no-color.org: any value but an empty one counts.
        Color::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explicit_color_option_overrides_the_stream() {
        assert!(is_colored(Color::Always, false));
        assert!(!is_colored(Color::Never, true));
        assert!(!is_colored(Color::Auto, false));
    }

    #[test]
    fn a_stream_that_is_not_a_terminal_gets_the_default_width() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(text_options(Color::Never, &file), plain());
    }
}
