//! The status line, on a terminal of the test's own: it is seen while the program runs and gone afterwards, and what the
//! program writes is what it would have written alone, half lines and scrolling included.

mod screen;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::harness::{Folder, Heaplens};
use crate::python::{interpreters, script};
use screen::Screen;

const ROWS: u16 = 12;
const COLUMNS: u16 = 100;

/// A terminal: the end that a person would sit at, and the path of the other.
fn terminal() -> (OwnedFd, PathBuf) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are pseudo terminals");
    grantpt(&ours).expect("it is ours");
    unlockpt(&ours).expect("it is ours");
    let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size).expect("it has a size");
    let name = ptsname(&ours, Vec::new()).expect("it has a name");
    (ours, PathBuf::from(name.to_str().expect("the name is plain")))
}

fn stream(path: &Path) -> Stdio {
    open(path, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("the terminal is there").into()
}

fn pipe_in(folder: &Folder) -> PathBuf {
    let pipe = folder.file("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is part of every system");
    assert!(made.success());
    pipe
}

/// `setsid --ctty heaplens run …` with all streams on the terminal, and the pipe that the program waits at.
fn started(terminal: &Path, folder: &Folder, options: &[&str], term: &str) -> (Child, PathBuf) {
    let pipe = pipe_in(folder);
    let mut command = Command::new("setsid");
    command
        .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_heaplens"), "run", "-o"])
        .arg(folder.file("run.hlr"));
    command.args(options).arg("--").arg(interpreters::any()).arg(script("python_status.py")).arg(&pipe);
    command.env("TERM", term).env_remove("NO_COLOR").env("PYTHONDONTWRITEBYTECODE", "1");
    command.stdin(stream(terminal)).stdout(stream(terminal)).stderr(stream(terminal));
    (command.spawn().expect("setsid is part of every system"), pipe)
}

/// Reads what comes until these words came; `None` when the other end was closed before.
fn read_until(terminal: &mut File, seen: &mut Vec<u8>, words: &str) -> Option<()> {
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(seen).contains(words) {
        // EIO: nobody has the other end open any more.
        let read = terminal.read(&mut buffer).ok().filter(|&read| read > 0)?;
        seen.extend_from_slice(&buffer[..read]);
    }
    Some(())
}

fn read_all(terminal: &mut File, seen: &mut Vec<u8>) {
    read_until(terminal, seen, "\u{0}never\u{0}");
}

fn go_on(pipe: &Path) {
    File::options()
        .write(true)
        .open(pipe)
        .and_then(|mut pipe| pipe.write_all(b"go"))
        .expect("it waits there");
}

/// What the program alone writes.
fn own_lines() -> Vec<String> {
    let line = |number: u32| format!("line {number}");
    (0..30).map(line).chain(["half a line".to_owned()]).chain((30..60).map(line)).collect()
}

/// Whether a line has `heaplens  M:SS` in it, however long the run took.
fn has_status(line: &str) -> bool {
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let mut times =
        line.split("heaplens  ").skip(1).filter_map(|rest| rest.split(' ').next()?.split_once(':'));
    times.any(|(minutes, seconds)| is_number(minutes) && is_number(seconds) && seconds.len() == 2)
}

#[test]
fn it_is_seen_while_the_program_runs_and_leaves_no_trace() {
    let (ours, path) = terminal();
    let folder = Folder::new();
    let (mut child, pipe) = started(&path, &folder, &["--color", "never"], "xterm");
    let (mut ours, mut seen) = (File::from(ours), Vec::new());
    read_until(&mut ours, &mut seen, "200 iterations · RSS ")
        .expect("the line comes while the program waits");
    let mut screen = Screen::new(ROWS, COLUMNS);
    screen.feed(&seen);
    let status = screen.row(ROWS - 1);
    assert!(status.starts_with("heaplens  ") && has_status(&status), "{status}");
    assert!(status.contains("200 iterations · RSS "), "{status}");
    assert_eq!(screen.row(screen.cursor().0), "half a", "the program's line is as it was");
    assert_eq!(
        screen.cursor().1,
        "half a ".len() as u16,
        "and so is the position at which it goes on writing"
    );
    go_on(&pipe);
    read_all(&mut ours, &mut seen);
    assert!(child.wait().expect("it is our child").success());
    let mut screen = Screen::new(ROWS, COLUMNS);
    screen.feed(&seen);
    let lines = screen.everything();
    let (own, report) = lines.split_at(own_lines().len());
    assert_eq!(own, own_lines());
    assert!(report[0].starts_with("heaplens  ") && report[0].contains("exit 0"), "{report:?}");
    assert!(!report.iter().any(|line| has_status(line)), "it is erased: {report:?}");
    assert!(screen.scrolls_whole(), "all rows are the program's again");
}

#[test]
fn where_it_is_not_wanted_nothing_of_it_is_written() {
    for (options, term) in [(&["--quiet"][..], "xterm"), (&["--color", "never"], "dumb")] {
        let (ours, path) = terminal();
        let folder = Folder::new();
        let (mut child, pipe) = started(&path, &folder, options, term);
        let (mut ours, mut seen) = (File::from(ours), Vec::new());
        read_until(&mut ours, &mut seen, "half a ").expect("the program begins");
        go_on(&pipe);
        read_all(&mut ours, &mut seen);
        assert!(child.wait().expect("it is our child").success());
        assert!(!seen.contains(&0x1b), "{options:?} {term}: {}", String::from_utf8_lossy(&seen));
    }
}

#[test]
fn a_pipe_gets_nothing_of_it() {
    let folder = Folder::new();
    let pipe = pipe_in(&folder);
    let mut command = Heaplens::bare(["run", "-o"]);
    command
        .arg(folder.file("run.hlr"))
        .arg("--")
        .arg(interpreters::any())
        .arg(script("python_status.py"))
        .arg(&pipe);
    command.env("TERM", "xterm").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("heaplens starts");
    go_on(&pipe);
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().expect("a pipe").read_to_string(&mut stdout).expect("text");
    child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
    assert!(child.wait().expect("it is our child").success());
    assert_eq!(stdout.lines().collect::<Vec<_>>(), own_lines());
    assert!(!stderr.contains('\u{1b}') && !stderr.contains('\r'), "{stderr}");
}
