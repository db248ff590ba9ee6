//! One run of one corpus program, with a limit: starts it in a folder of its own, observes it, and reads what it printed. Knows nothing of
//! Heaplens nor of what the program should do.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::memory;
use super::programs::CorpusProgram;
use super::reap::{Ended, try_reap};
use crate::workspace::target;

/// For all programs: the same hashes in every run, no accelerator, no messages, and no threads that only wait for each other.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("PYTHONHASHSEED", "0"),
    ("CUDA_VISIBLE_DEVICES", ""),
    ("TF_CPP_MIN_LOG_LEVEL", "3"),
    ("JAX_PLATFORMS", "cpu"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("OMP_NUM_THREADS", "1"),
];

/// Memory is read this often, or so seldom that reading takes a third of the time.
const INTERVAL: Duration = Duration::from_millis(10);
const LONGEST_INTERVAL: Duration = Duration::from_millis(50);

/// The program that was killed has this exit status.
const TIMED_OUT: i32 = 124;

/// What a run is given.
#[derive(Debug)]
pub struct Launch<'a> {
    pub program: &'a CorpusProgram,
    /// The program, or a tool with the program behind it.
    pub command_line: Vec<OsString>,
    /// How often the program repeats; else its default.
    pub iterations: Option<u64>,
    pub limit_s: u32,
}

/// What a run gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The program's word for how often it repeated.
    pub iterations: u64,
    pub wall_s: f64,
    pub cpu_s: f64,
    /// The most that the tree of processes had resident, at one time; of the largest process alone where it was not read.
    pub peak_bytes: u64,
}

/// Whether memory is read while the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    Memory,
    Nothing,
}

impl Launch<'_> {
    /// Runs it to its end.
    pub fn run(&self, watch: Watch) -> Result<Run> {
        let folder = Scratch::make(&self.program.flat_name())?;
        let start = Instant::now();
        let child = self.command(&folder.0)?.spawn().context("cannot start `timeout`")?;
        let (ended, peak_bytes) = wait(&child, watch)?;
        let wall_s = start.elapsed().as_secs_f64();
        self.check(ended.status, &folder.0)?;
        let said = std::fs::read_to_string(folder.0.join("stdout")).context("cannot read what it printed")?;
        let iterations = iterations(&said).context("it printed no `truth iterations=N`")?;
        Ok(Run { iterations, wall_s, cpu_s: ended.cpu_s, peak_bytes })
    }

    fn command(&self, folder: &Path) -> Result<Command> {
        let output =
            |name: &str| File::create(folder.join(name)).context("cannot make a file for its output");
        let mut command = Command::new("timeout");
        command.arg("--kill-after=5").arg(self.limit_s.to_string()).args(&self.command_line);
        command.envs(ENVIRONMENT).env("TMPDIR", folder).current_dir(folder);
        command.env_remove("CORPUS_ITERATIONS");
        command.envs(self.iterations.map(|count| ("CORPUS_ITERATIONS", count.to_string())));
        command.stdin(Stdio::null()).stdout(output("stdout")?).stderr(output("stderr")?);
        Ok(command)
    }

    fn check(&self, status: ExitStatus, folder: &Path) -> Result<()> {
        if status.code() == Some(TIMED_OUT) {
            bail!("it took longer than {} s", self.limit_s);
        }
        let said = std::fs::read_to_string(folder.join("stderr")).unwrap_or_default();
        ensure!(status.success(), "it ended with {status}: {}", said.lines().last().unwrap_or_default());
        Ok(())
    }
}

/// A folder that is gone when the run is over.
struct Scratch(PathBuf);

impl Scratch {
    fn make(name: &str) -> Result<Self> {
        // Another run, such as one for the truth, may have the same program at the same time.
        let folder = target().join("corpus/tmp").join(format!("{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Waits for the end of a child; what is known of it then, and the peak of the tree below it. The kernel's peak of the largest process is exact, and
/// at most that of the tree: programs of one process grow after the last reading, too.
fn wait(child: &Child, watch: Watch) -> Result<(Ended, u64)> {
    let mut peak = 0;
    loop {
        if let Some(ended) = try_reap(child)? {
            return Ok((ended, peak.max(ended.largest_bytes)));
        }
        let start = Instant::now();
        if watch == Watch::Memory {
            peak = peak.max(memory::of_tree(child.id()));
        }
        std::thread::sleep((start.elapsed() * 2).clamp(INTERVAL, LONGEST_INTERVAL));
    }
}

fn iterations(said: &str) -> Option<u64> {
    let count = said.lines().rev().find_map(|line| line.strip_prefix("truth iterations="))?;
    count.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::header::{Header, Label};
    use super::*;

    fn run(script: &str, name: &str, iterations: Option<u64>) -> Result<Run> {
        let header = Header {
            cause: String::new(),
            class: String::new(),
            label: Label::Clean,
            growth: None,
            needs: Vec::new(),
        };
        let program = CorpusProgram { name: name.to_owned(), header };
        let command_line = ["sh", "-c", script].map(OsString::from).to_vec();
        Launch { program: &program, command_line, iterations, limit_s: 20 }.run(Watch::Memory)
    }

    #[test]
    fn the_program_says_how_often_it_repeated() {
        let script = "echo noise; echo truth iterations=${CORPUS_ITERATIONS:-5}";
        assert_eq!(run(script, "test/default", None).unwrap().iterations, 5);
        assert_eq!(run(script, "test/set", Some(3)).unwrap().iterations, 3);
    }

    #[test]
    fn a_failure_is_told_with_the_last_words_of_the_program() {
        let error = run("echo no such thing >&2; exit 3", "test/failure", None).unwrap_err().to_string();
        assert!(error.ends_with("exit status: 3: no such thing"), "{error}");
        let error = run("true", "test/silent", None).unwrap_err().to_string();
        assert_eq!(error, "it printed no `truth iterations=N`");
    }
}
