//! An interpreter that stands still: its memory, its mappings, and what its program said about itself.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use heaplens_analyze::heap::ReadMemory;
use heaplens_format::Addr;
use heaplens_snapshot::Span;
use object::{Object, ObjectSymbol};
use rustix::process::{Pid, WaitOptions, waitpid};
use serde_json::Value;

/// Memory of another process.
pub struct Memory(File);

impl ReadMemory for Memory {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < into.len() {
            match self.0.read_at(&mut into[filled..], address + filled as u64) {
                Ok(0) | Err(_) => break,
                Ok(read) => filled += read,
            }
        }
        filled
    }
}

/// A program that has said its truth and has stopped itself.
pub struct Stopped {
    child: Child,
    pub truth: Value,
    pub memory: Memory,
    stderr: Receiver<String>,
}

struct Mapping {
    start: u64,
    end: u64,
    is_writable: bool,
    offset: u64,
    path: String,
}

impl Stopped {
    /// Runs a script that prints a line and stops itself.
    pub fn run(interpreter: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(interpreter);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = lines_of(child.stderr.take().unwrap());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let truth = serde_json::from_str(&line).unwrap_or_else(|error| {
            panic!("{interpreter:?}: {error}: {:?}", stderr.try_iter().collect::<Vec<_>>())
        });
        let pid = Pid::from_raw(child.id() as i32).unwrap();
        let (_, status) = waitpid(Some(pid), WaitOptions::UNTRACED).unwrap().unwrap();
        assert!(status.stopped());
        let memory = Memory(File::open(format!("/proc/{}/mem", child.id())).unwrap());
        Self { child, truth, memory, stderr }
    }

    /// Bytes of small blocks, as its allocator said just before it stopped.
    pub fn allocated(&self) -> u64 {
        const LINE: &str = "# bytes in allocated blocks";
        let line = self.stderr.iter().find(|line| line.starts_with(LINE)).expect("the program says it");
        let digits: String = line[LINE.len()..].chars().filter(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    }

    pub fn version(&self) -> (u8, u8) {
        let part = |at: usize| self.truth["version"][at].as_u64().unwrap() as u8;
        (part(0), part(1))
    }

    fn mappings(&self) -> Vec<Mapping> {
        let text = std::fs::read_to_string(format!("/proc/{}/maps", self.child.id())).unwrap();
        text.lines().map(Mapping::parse).collect()
    }

    /// The address of `_PyRuntime`.
    pub fn runtime(&self) -> u64 {
        let mappings = self.mappings();
        let starts = |mapping: &&Mapping| mapping.offset == 0 && mapping.path.contains("python");
        mappings.iter().filter(starts).find_map(runtime_in).expect("an interpreter is mapped")
    }

    /// Data of the interpreter itself.
    pub fn data(&self) -> Vec<Span> {
        let (runtime, mappings) = (self.runtime(), self.mappings());
        let own = mappings.iter().find(|mapping| mapping.start <= runtime && runtime < mapping.end);
        let is_own =
            |mapping: &&Mapping| mapping.is_writable && own.is_some_and(|own| own.path == mapping.path);
        mappings.iter().filter(is_own).map(Mapping::span).collect()
    }

    /// Anonymous memory that could be arenas.
    pub fn arenas(&self) -> Vec<Span> {
        let mappings = self.mappings();
        let is_anonymous = |mapping: &&Mapping| mapping.is_writable && mapping.path.is_empty();
        mappings.iter().filter(is_anonymous).map(Mapping::span).collect()
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // A stopped process dies of it, too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Mapping {
    fn span(&self) -> Span {
        Span::new(Addr::new(self.start), Addr::new(self.end))
    }

    fn parse(line: &str) -> Self {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let (start, end) = fields[0].split_once('-').unwrap();
        Self {
            start: hex(start),
            end: hex(end),
            is_writable: fields[1].starts_with("rw"),
            offset: hex(fields[2]),
            path: fields.get(5).copied().unwrap_or_default().to_owned(),
        }
    }
}

fn runtime_in(mapping: &Mapping) -> Option<u64> {
    let bytes = std::fs::read(&mapping.path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let moved = if file.kind() == object::ObjectKind::Executable { 0 } else { mapping.start };
    let symbol = file.dynamic_symbols().find(|symbol| symbol.name() == Ok("_PyRuntime"))?;
    (symbol.address() != 0).then(|| symbol.address() + moved)
}

fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            // Nobody listens any more when the test is over.
            let _ = sender.send(line);
        }
    });
    receiver
}

/// An interpreter of pyenv for each of these versions, or one that `cargo xtask soak` unpacked into the build's folder, as far as
/// they are here; and the system's own.
pub fn installed(test: &str, versions: &[&str]) -> Vec<PathBuf> {
    let (found, missing): (Vec<_>, Vec<_>) =
        versions.iter().map(|version| of_version(version).ok_or(version)).partition(Result::is_ok);
    // The run that every change has to pass takes those that are here; `cargo xtask test --all` wants all of them.
    let is_run_of_a_change = std::env::var("HEAPLENS_TEST_SCOPE").is_ok_and(|scope| scope == "change");
    for version in missing.into_iter().filter_map(Result::err).filter(|_| !is_run_of_a_change) {
        skip(test, &format!("no Python {version} here"));
    }
    let system = Path::new("/usr/bin/python3").to_owned();
    found.into_iter().flatten().chain(Some(system).filter(|path| path.exists())).collect()
}

/// Says what was not run, past libtest's capture.
pub fn skip(test: &str, reason: &str) {
    writeln!(std::io::stderr().lock(), "skipped: {test}: {reason}").expect("stderr is open");
}

fn of_version(version: &str) -> Option<PathBuf> {
    of_pyenv(version).or_else(|| unpacked(version)).filter(|path| path.exists())
}

fn unpacked(version: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    // FOLDER/debug/deps/THIS
    Some(own.ancestors().nth(3)?.join("interpreters/usr/bin").join(format!("python{version}")))
}

fn of_pyenv(version: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let folder = std::fs::read_dir(Path::new(&home).join(".pyenv/versions")).ok()?;
    let is_wanted = |name: &str| name.starts_with(&format!("{version}."));
    let mut entries = folder.filter_map(Result::ok);
    let found = entries.find(|entry| entry.file_name().to_str().is_some_and(is_wanted))?;
    Some(found.path().join("bin/python3"))
}
