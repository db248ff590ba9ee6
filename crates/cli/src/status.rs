//! The status line of `heaplens run`: progress of the run on the last row of the terminal, updated twice a second.
//!
//! The program writes to the same terminal at any time, also incomplete lines, and we do not notice. Hence its output is left
//! alone: it scrolls in all rows but the last one, which is reserved until the status line is erased, and the cursor is restored
//! to where the program left it. Nothing is written if stderr is not a terminal, if the terminal lacks these functions, while
//! another job is in the foreground, and while the program reads single keys (it then draws the screen itself). Carriage return
//! and erase-line alone would not do: they erase the incomplete line of the program, and its next output follows ours.
//!
//! ```text
//!   ESC D  ESC M       a row below the cursor, by scrolling if there is none; the cursor stays with its text
//!   ESC 7 … ESC 8      save and restore the cursor
//!   CSI 1;n r          set the scrolling region; CSI r: all rows
//!   CSI n;1 H  CSI 2 K go to the last row, erase it
//! ```

use std::io::{IsTerminal, Write, stderr};

use heaplens_format::{Bytes, Nanos};
use heaplens_record::Progress;
use heaplens_report::text::{count, size};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp, tcgetwinsize};

/// No status line on terminals with fewer rows or columns.
const FEWEST_ROWS: u16 = 5;
const FEWEST_COLUMNS: u16 = 40;

/// See the module.
#[derive(Debug)]
pub(crate) struct StatusLine {
    /// The rows of the terminal when the last one was reserved.
    rows: Option<u16>,
}

impl StatusLine {
    /// A status line on stderr; `None` if none can be shown.
    pub(crate) fn on_stderr(quiet: bool) -> Option<Self> {
        let is_capable = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        (!quiet && is_capable && stderr().is_terminal()).then_some(Self { rows: None })
    }

    /// Shows the current progress.
    pub(crate) fn show(&mut self, progress: &Progress) {
        match terminal() {
            Terminal::Available { rows, columns } => self.draw(progress, rows, columns),
            Terminal::InUse => self.erase(),
            Terminal::Background => {}
        }
    }

    fn draw(&mut self, progress: &Progress, rows: u16, columns: u16) {
        let mut bytes = String::new();
        if self.rows != Some(rows) {
            bytes += &self.rows.map(release_row).unwrap_or_default();
            bytes += RESERVE_ROW;
            self.rows = Some(rows);
        }
        let text: String = status_text(progress).chars().take(usize::from(columns) - 1).collect();
        bytes += &line(rows, &text);
        write(&bytes);
    }

    /// Erases the status line and releases its row.
    pub(crate) fn erase(&mut self) {
        if let Some(rows) = self.rows.take() {
            write(&release_row(rows));
        }
    }
}

/// Writes everything in one call, so that the program's own output does not get in between. A closed stderr is ignored.
fn write(bytes: &str) {
    stderr().write_all(bytes.as_bytes()).ok();
}

/// Whether the status line can be shown now.
enum Terminal {
    /// It can, on the last of these rows.
    Available { rows: u16, columns: u16 },
    /// The program draws the screen itself, or the terminal is too small.
    InUse,
    /// Another job is in the foreground: nothing may be written.
    Background,
}

fn terminal() -> Terminal {
    let is_foreground = tcgetpgrp(stderr()).is_ok_and(|foreground| foreground == getpgrp());
    if !is_foreground {
        return Terminal::Background;
    }
    let reads_lines = tcgetattr(stderr()).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON));
    match tcgetwinsize(stderr()) {
        Ok(size) if reads_lines && size.ws_row >= FEWEST_ROWS && size.ws_col >= FEWEST_COLUMNS => {
            Terminal::Available { rows: size.ws_row, columns: size.ws_col }
        }
        _ => Terminal::InUse,
    }
}

/// Makes sure that there is a row below the cursor.
const RESERVE_ROW: &str = "\x1bD\x1bM";

/// The text on the last row. The scrolling region is set each time: the program may have reset the terminal.
fn line(rows: u16, text: &str) -> String {
    format!("\x1b7\x1b[1;{}r\x1b[{rows};1H\x1b[2K{text}\x1b8", rows - 1)
}

fn release_row(rows: u16) -> String {
    format!("\x1b7\x1b[{rows};1H\x1b[2K\x1b[r\x1b8")
}

/// `heaplens  0:12 · 1,204 iterations · RSS 512 MiB · live 130 MiB · growing 1.20 KiB per iteration`.
fn status_text(progress: &Progress) -> String {
    let iterations = progress.iterations.map(|number| format!("{} iterations", count(number)));
    let growth = progress.growth.map(growth);
    let fields = [
        Some(clock(progress.elapsed)),
        iterations,
        Some(format!("RSS {}", size(progress.rss))),
        Some(format!("live {}", size(progress.live))),
        growth,
    ];
    format!("heaplens  {}", fields.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

fn growth(bytes: f64) -> String {
    let rounded = Bytes::new(bytes.abs().round() as u64);
    match bytes {
        _ if rounded == Bytes::ZERO => "not growing".to_owned(),
        0.0.. => format!("growing {} per iteration", size(rounded)),
        _ => format!("shrinking {} per iteration", size(rounded)),
    }
}

/// `0:07`, `12:34` or `2:03:04`.
fn clock(elapsed: Nanos) -> String {
    let seconds = elapsed.get() / 1_000_000_000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(seconds: u64, iterations: Option<u64>, growth: Option<f64>) -> Progress {
        let elapsed = Nanos::new(seconds * 1_000_000_000);
        Progress { elapsed, rss: Bytes::new(5 << 20), live: Bytes::new(3 << 10), iterations, growth }
    }

    #[test]
    fn the_line_shows_what_is_known() {
        assert_eq!(status_text(&progress(7, None, None)), "heaplens  0:07 · RSS 5.00 MiB · live 3.00 KiB");
        assert_eq!(
            status_text(&progress(7384, Some(1204), Some(1228.8))),
            "heaplens  2:03:04 · 1,204 iterations · RSS 5.00 MiB · live 3.00 KiB · growing 1.20 KiB per iteration"
        );
    }

    #[test]
    fn rounding_to_zero_is_not_growth() {
        assert_eq!(growth(0.2), "not growing");
        assert_eq!(growth(-0.2), "not growing");
        assert_eq!(growth(-2048.0), "shrinking 2.00 KiB per iteration");
    }
}
