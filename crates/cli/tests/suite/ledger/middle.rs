//! Ledgers in the middle of a run: the program stands at a handshake while `heaplens snapshot` takes a snapshot, and while the test
//! asks the kernel by itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use heaplens_format::recording::{Line, decode};

use super::python::with_module;
use super::{Ledger, MIB, assert_near, said_in};
use crate::harness::{Finished, Folder, Heaplens, Report, allocator, program, skip};
use crate::python::script;
use crate::requests::child_of;

/// What the kernel says about a process, in bytes.
struct Kernel {
    /// By `statm`.
    resident: f64,
    /// By `smaps`: areas with a file, Heaplens's own left out.
    files: f64,
    /// Areas without a name right after one with a file: `.bss`, and what the kernel lists as one with it.
    after_files: f64,
    /// Areas of the arena.
    arena: f64,
}

impl Kernel {
    fn ask(pid: u32) -> Self {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).expect("it stands");
        let statm = read("statm");
        let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok());
        let areas = areas(&read("smaps"));
        let sum = |wanted: &dyn Fn(usize) -> bool| -> f64 {
            (0..areas.len()).filter(|&index| wanted(index)).map(|index| areas[index].resident).sum()
        };
        let is_file = |index: usize| areas[index].name.starts_with('/') && !areas[index].is_own();
        let is_after = |index: usize| {
            let touches = |index: usize| index > 0 && areas[index - 1].end == areas[index].start;
            areas[index].name.is_empty() && touches(index) && is_file(index - 1)
        };
        Self {
            resident: pages.expect("statm has pages") * 4096.0,
            files: sum(&is_file),
            after_files: sum(&is_after),
            arena: sum(&|index| areas[index].name.ends_with(".arena")),
        }
    }
}

/// An area of the kernel's list.
struct Area {
    start: u64,
    end: u64,
    name: String,
    resident: f64,
}

impl Area {
    fn is_own(&self) -> bool {
        self.name.ends_with(".arena") || self.name.contains("/libheaplens-")
    }
}

/// `START-END rights offset device inode NAME`, then `Rss:  N kB` among other lines.
fn areas(smaps: &str) -> Vec<Area> {
    let mut areas: Vec<Area> = Vec::new();
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if let Some((start, end)) = first.split_once('-') {
            let address = |text: &str| u64::from_str_radix(text, 16).expect("an address");
            let name = words.nth(4).unwrap_or_default().to_owned();
            areas.push(Area { start: address(start), end: address(end), name, resident: 0.0 });
        } else if first == "Rss:"
            && let Some(area) = areas.last_mut()
        {
            let kib: f64 = words.next().and_then(|kib| kib.parse().ok()).expect("a number");
            area.resident = kib * 1024.0;
        }
    }
    areas
}

/// A program of which a snapshot was taken in its middle and went on to its end.
struct Stood {
    ledger: Ledger,
    kernel: Kernel,
    /// What it said before it stood.
    said: String,
    end: Finished,
}

impl Stood {
    fn of(run: Heaplens) -> Self {
        let (folder, mut command) = run.into_parts();
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut run = pipes.spawn().expect("heaplens starts");
        let mut input = run.stdin.take().expect("stdin is a pipe");
        let mut output = BufReader::new(run.stdout.take().expect("stdout is a pipe"));
        let said = until_ready(&mut output);
        let pid = child_of(run.id());
        let ledger = snapshot(&folder, pid);
        let kernel = Kernel::ask(pid);
        input.write_all(b"on\n").expect("the program listens");
        let mut rest = said.clone().into_bytes();
        output.read_to_end(&mut rest).expect("the program ends");
        let mut output = run.wait_with_output().expect("heaplens ends");
        output.stdout = rest;
        Self { ledger, kernel, said, end: Finished { folder, output }.expect_status(0) }
    }

    /// Panics unless the ledger is what the kernel says, in sum and on the line that the kernel knows by itself.
    fn assert_adds_up(&self) {
        let rows = self.ledger.rows();
        let sum: f64 = rows.iter().filter_map(|row| row["end"].as_f64()).sum();
        assert_near("RSS by the kernel", sum, self.kernel.resident, 0.01, 4.0 * MIB);
        let own = self.ledger.end("heaplens");
        let left = self.ledger.end("unexplained");
        assert!(left <= 0.02 * (sum - own), "{left} unexplained: {rows:?}");
        let (files, after) = (self.kernel.files, self.kernel.after_files);
        let found = self.ledger.end("mapped-files");
        assert!(
            found >= files - MIB && found <= files + after + MIB,
            "mapped files: {found}; the kernel says {files}, and {after} after them"
        );
        assert!(own >= self.kernel.arena - MIB, "{own} are Heaplens's own, {} the arena", self.kernel.arena);
        assert_eq!(self.ledger.end_is(), "running");
    }

    /// Panics unless every ledger that the recorder took meanwhile adds up, too.
    fn assert_recorded_ones_add_up(&self) {
        let bytes = std::fs::read(self.end.recording()).expect("a recording");
        let decoded = decode(&bytes).expect("it can be read");
        let ledgers = &decoded.recording.processes[0].ledgers;
        assert!(ledgers.len() > 1, "one at the end at least, and one before it");
        for ledger in ledgers {
            let sum: u64 = ledger.lines.iter().map(|(_, bytes)| bytes.get()).sum();
            assert_eq!(sum, ledger.rss.get());
            let left = ledger.line(Line::UNEXPLAINED).get();
            assert!(left <= ledger.program().get() / 50, "{left} of {:?}", ledger.program());
        }
    }
}

/// The lines up to `ready`.
fn until_ready(output: &mut impl BufRead) -> String {
    let mut said = String::new();
    while !said.ends_with("ready\n") {
        let length = output.read_line(&mut said).expect("the program speaks");
        assert!(length > 0, "it ended before it was ready:\n{said}");
    }
    said
}

fn snapshot(folder: &Folder, pid: u32) -> Ledger {
    let mut command = Heaplens::bare(["snapshot", "--passive", "--format", "json", "-o"]);
    let command = command.arg(folder.file("middle.hlr")).arg(pid.to_string());
    let output = command.output().expect("heaplens starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ledger(Report::parse(&output.stdout))
}

fn native(what: &str, preload: Option<&std::path::Path>) -> Stood {
    let run = Heaplens::on(&program("ledger.cpp"), &["--quiet"]).arg(what).arg("stands");
    let run = match preload {
        Some(library) => run.env("LD_PRELOAD", library),
        None => run,
    };
    let stood = Stood::of(run);
    stood.assert_adds_up();
    stood.assert_recorded_ones_add_up();
    let later = Ledger::of(&stood.end).end("native") - stood.ledger.end("native");
    assert_near("what it wrote after it stood", later, 32.0 * MIB, 0.0, MIB);
    stood
}

/// Blocks of a program, and what it maps by a raw system call, with an allocator.
fn with_allocator(preload: Option<&std::path::Path>) {
    let blocks = native("blocks", preload);
    assert_near("live blocks", blocks.ledger.end("native"), said_in(&blocks.said, "live"), 0.02, 0.0);
    if preload.is_none() {
        let free = said_in(&blocks.said, "free") + said_in(&blocks.said, "overhead");
        assert_near("free memory", blocks.ledger.end("allocator-free"), free, 0.02, 0.0);
    }
    let raw = native("raw", preload);
    assert_near("the mapping", raw.ledger.mapped("unhooked"), 64.0 * MIB, 0.0, 0.5 * MIB);
}

#[test]
fn a_native_program_adds_up_while_it_stands() {
    with_allocator(None);
}

#[test]
fn tcmalloc_adds_up_while_the_program_stands() {
    let test = "ledger::middle::tcmalloc_adds_up_while_the_program_stands";
    match allocator("libtcmalloc_minimal.so.4") {
        Some(library) => with_allocator(Some(&library)),
        None => skip(test, "libtcmalloc-minimal4 is not installed"),
    }
}

#[test]
fn jemalloc_adds_up_while_the_program_stands() {
    let test = "ledger::middle::jemalloc_adds_up_while_the_program_stands";
    match allocator("libjemalloc.so.2") {
        Some(library) => with_allocator(Some(&library)),
        None => skip(test, "libjemalloc2 is not installed"),
    }
}

#[test]
fn arrays_and_objects_add_up_while_the_script_stands() {
    let test = "ledger::middle::arrays_and_objects_add_up_while_the_script_stands";
    let Some(python) = with_module(test, "numpy") else { return skip(test, "no interpreter here has NumPy") };
    let run = Heaplens::on(&python, &["--quiet"]).arg(script("ledger_middle.py")).arg("numpy");
    let stood = Stood::of(run);
    stood.assert_adds_up();
    stood.assert_recorded_ones_add_up();
    assert_near("arrays", stood.ledger.end("numpy"), said_in(&stood.said, "arrays"), 0.02, 0.0);
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_training_loop_adds_up_while_it_stands() {
    let test = "ledger::middle::a_training_loop_adds_up_while_it_stands";
    let Some(python) = with_module(test, "tensorflow") else {
        return skip(test, "no interpreter here has TensorFlow");
    };
    let run = Heaplens::on(&python, &["--quiet"]).arg(script("ledger_middle.py")).arg("tensorflow");
    let stood = Stood::of(run);
    stood.assert_adds_up();
    stood.assert_recorded_ones_add_up();
}
