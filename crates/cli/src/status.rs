//! The status line of `heaplens run`: how the run goes, on the last row of the terminal, twice a second.
//!
//! The program writes to the same terminal whenever it likes, also parts of lines, and nobody tells us. So its lines are left
//! alone: it scrolls in all rows but the last one, which is ours until the line is erased. The cursor is put back to where the
//! program left it. Nothing is written when stderr is no terminal, where the terminal cannot do this, while another job has it,
//! and while the program reads single keys: then it draws the screen itself. Carriage return and erase-line alone would not
//! do: they wipe out the half line that a program has printed, and its next words stand behind ours.
//!
//! ```text
//!   ESC D  ESC M       a row below the cursor, by scrolling where there is none; the cursor stays with its text
//!   ESC 7 … ESC 8      keep the cursor, put it back
//!   CSI 1;n r          rows that scroll; CSI r: all
//!   CSI n;1 H  CSI 2 K go to the last row, erase it
//! ```

use std::io::{IsTerminal, Write, stderr};

use heaplens_format::{Bytes, Nanos};
use heaplens_record::Progress;
use heaplens_report::text::{count, size};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp, tcgetwinsize};

/// A terminal with fewer rows or columns has none to spare.
const FEWEST_ROWS: u16 = 5;
const FEWEST_COLUMNS: u16 = 40;

/// See the module.
#[derive(Debug)]
pub(crate) struct StatusLine {
    /// The rows of the terminal when the last one was taken.
    rows: Option<u16>,
}

impl StatusLine {
    /// One on stderr; `None` where nothing is to be written.
    pub(crate) fn on_stderr(quiet: bool) -> Option<Self> {
        let is_able = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        (!quiet && is_able && stderr().is_terminal()).then_some(Self { rows: None })
    }

    /// Shows how it goes now.
    pub(crate) fn show(&mut self, progress: &Progress) {
        match room() {
            Room::Free { rows, columns } => self.draw(progress, rows, columns),
            Room::Taken => self.erase(),
            Room::Foreign => {}
        }
    }

    fn draw(&mut self, progress: &Progress, rows: u16, columns: u16) {
        let mut bytes = String::new();
        if self.rows != Some(rows) {
            bytes += &self.rows.map(give_back).unwrap_or_default();
            bytes += MAKE_ROOM;
            self.rows = Some(rows);
        }
        let text: String = words(progress).chars().take(usize::from(columns) - 1).collect();
        bytes += &line(rows, &text);
        write(&bytes);
    }

    /// Gives the row back.
    pub(crate) fn erase(&mut self) {
        if let Some(rows) = self.rows.take() {
            write(&give_back(rows));
        }
    }
}

/// One call for all of it, so that the program's own writes do not come in between. A closed stderr is nobody's error.
fn write(bytes: &str) {
    stderr().write_all(bytes.as_bytes()).ok();
}

/// Whether there is a place for the line now.
enum Room {
    /// The last row of so many.
    Free { rows: u16, columns: u16 },
    /// The program draws the screen itself, or there are no rows to spare.
    Taken,
    /// Another job has the terminal: not a byte may be written.
    Foreign,
}

fn room() -> Room {
    let is_ours = tcgetpgrp(stderr()).is_ok_and(|foreground| foreground == getpgrp());
    if !is_ours {
        return Room::Foreign;
    }
    let reads_lines = tcgetattr(stderr()).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON));
    match tcgetwinsize(stderr()) {
        Ok(size) if reads_lines && size.ws_row >= FEWEST_ROWS && size.ws_col >= FEWEST_COLUMNS => {
            Room::Free { rows: size.ws_row, columns: size.ws_col }
        }
        _ => Room::Taken,
    }
}

/// A row below the cursor.
const MAKE_ROOM: &str = "\x1bD\x1bM";

/// The text on the last row. What scrolls is said each time: the program may have reset the terminal.
fn line(rows: u16, text: &str) -> String {
    format!("\x1b7\x1b[1;{}r\x1b[{rows};1H\x1b[2K{text}\x1b8", rows - 1)
}

fn give_back(rows: u16) -> String {
    format!("\x1b7\x1b[{rows};1H\x1b[2K\x1b[r\x1b8")
}

/// `heaplens  0:12 · 1,204 iterations · RSS 512 MiB · live 130 MiB · growing 1.20 KiB per iteration`.
fn words(progress: &Progress) -> String {
    let iterations = progress.iterations.map(|number| format!("{} iterations", count(number)));
    let growth = progress.growth.map(growth);
    let known = [
        Some(clock(progress.elapsed)),
        iterations,
        Some(format!("RSS {}", size(progress.rss))),
        Some(format!("live {}", size(progress.live))),
        growth,
    ];
    format!("heaplens  {}", known.into_iter().flatten().collect::<Vec<_>>().join(" · "))
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
    fn the_line_says_what_is_known() {
        assert_eq!(words(&progress(7, None, None)), "heaplens  0:07 · RSS 5.00 MiB · live 3.00 KiB");
        assert_eq!(
            words(&progress(7384, Some(1204), Some(1228.8))),
            "heaplens  2:03:04 · 1,204 iterations · RSS 5.00 MiB · live 3.00 KiB · growing 1.20 KiB per iteration"
        );
    }

    #[test]
    fn what_does_not_grow_is_not_said_to() {
        assert_eq!(growth(0.2), "not growing");
        assert_eq!(growth(-0.2), "not growing");
        assert_eq!(growth(-2048.0), "shrinking 2.00 KiB per iteration");
    }
}
