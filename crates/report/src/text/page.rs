//! A text page: lines cut to the width of the terminal, titles, wrapped paragraphs. Knows no profile.

use std::io::{self, Write};

use crate::catalogue::wording::{cut, wrapped};

/// Layout of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Columns of the terminal; lines are cut there.
    pub width: usize,
    /// Whether to emphasise with escape sequences, which never carry meaning alone.
    pub colour: bool,
    /// Sites at exit.
    pub top: usize,
    /// Sites at the peak.
    pub top_at_peak: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { width: 110, colour: false, top: 10, top_at_peak: 5 }
    }
}

/// Where lines are written.
pub(super) struct Page<'a> {
    pub(super) options: Options,
    pub(super) out: &'a mut dyn Write,
}

impl Page<'_> {
    /// One line, cut to the width, without blanks at its end.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", cut(text.trim_end(), self.options.width))
    }

    /// A line whose first `plain` characters are plain and whose rest is emphasised.
    pub(super) fn emphasised(&mut self, plain: &str, rest: &str) -> io::Result<()> {
        if !self.options.colour {
            return self.line(&format!("{plain}{rest}"));
        }
        let room = self.options.width.saturating_sub(plain.chars().count());
        writeln!(self.out, "{plain}\x1b[1m{}\x1b[0m", cut(rest.trim_end(), room))
    }

    /// A text after a label on its first line, broken between words.
    pub(super) fn wrapped(&mut self, front: &str, text: &str) -> io::Result<()> {
        let indent = front.chars().count();
        let lines = wrapped(text, self.options.width.saturating_sub(indent));
        let fronts = std::iter::once(front).chain(std::iter::repeat(""));
        lines.iter().zip(fronts).try_for_each(|(line, front)| self.line(&format!("{front:indent$}{line}")))
    }

    pub(super) fn title(&mut self, text: &str) -> io::Result<()> {
        self.line("")?;
        self.emphasised("  ", text)
    }
}
