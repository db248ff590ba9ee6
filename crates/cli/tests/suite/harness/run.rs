//! Runs `heaplens` as a user does, and keeps what came out.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::compare::assert_exact;
use super::folder::Folder;
use super::report::Report;
use super::truth::Truth;

/// A `heaplens run` that is being put together.
pub struct Heaplens {
    folder: Folder,
    command: Command,
}

/// What a run left.
pub struct Finished {
    /// Where recording and report lie; gone when dropped.
    pub folder: Folder,
    /// Exit status, stdout and stderr of `heaplens run`.
    pub output: Output,
}

impl Heaplens {
    /// `heaplens` itself with these arguments, nothing added.
    pub fn bare<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heaplens"));
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// `heaplens run -o … --json … OPTIONS -- PROGRAM`.
    pub fn on(program: &Path, options: &[&str]) -> Self {
        let folder = Folder::new();
        let mut command = Self::bare(["run", "-o"]);
        command.arg(folder.file("run.hlr")).arg("--json").arg(folder.file("run.json")).args(options);
        command.arg("--").arg(program);
        Self { folder, command }
    }

    /// Another word for the program.
    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.command.arg(word);
        self
    }

    /// A variable of the user's environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it to its end.
    pub fn finish(mut self) -> Finished {
        let output = self.command.output().expect("heaplens starts");
        Finished { folder: self.folder, output }
    }

    /// For tests that talk to the run while it goes on.
    pub fn into_parts(self) -> (Folder, Command) {
        (self.folder, self.command)
    }
}

impl Finished {
    /// Panics unless the program ended with this status.
    pub fn expect_status(self, status: i32) -> Self {
        assert_eq!(
            self.output.status.code(),
            Some(status),
            "stdout and stderr:\n{}{}",
            self.stdout(),
            self.stderr()
        );
        self
    }

    /// What came on stdout: the program's and ours.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// What came on stderr.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// What the programs said about themselves.
    pub fn truth(&self) -> Truth {
        Truth::parse(&self.stdout())
    }

    /// The recording.
    pub fn recording(&self) -> PathBuf {
        self.folder.file("run.hlr")
    }

    /// The report that the run itself wrote.
    pub fn report(&self) -> Report {
        let path = self.folder.file("run.json");
        let text =
            std::fs::read(&path).unwrap_or_else(|error| panic!("no report: {error}\n{}", self.stderr()));
        Report::parse(&text)
    }

    /// The report on one process, from the recording.
    pub fn report_on(&self, pid: u32) -> Report {
        let mut command = Heaplens::bare(["report", "--format", "json", "--pid"]);
        let output = command.arg(pid.to_string()).arg(self.recording()).output().expect("heaplens starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Report::parse(&output.stdout)
    }

    /// Compares every process that spoke, exactly.
    pub fn assert_exact(&self) {
        let truth = self.truth();
        for &pid in &truth.pids {
            assert_exact(&truth, pid, &self.report_on(pid));
        }
    }
}
