//! One script, run alone and recorded, and everything about the two runs compared.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::{found, tree};
use crate::harness::{Folder, Heaplens, Report, skip};

/// Long enough for the slowest long run on a slow machine: reached only by a program that hangs.
const MOST_SECONDS: &str = "1200";
/// The exit status of `timeout` when it had to end the program.
const HUNG: i32 = 124;

/// A bash script that is about to be run twice.
pub struct Trial {
    name: &'static str,
    folder: Folder,
    variables: Vec<(&'static str, String)>,
    /// The script's own input files, laid out before each run.
    inputs: Vec<(String, String)>,
    is_nobody: bool,
}

/// What one run of it did.
struct Run {
    output: Output,
    files: PathBuf,
}

impl Trial {
    /// A trial of programs that all exist here; says what is missing otherwise.
    pub fn of(name: &'static str, programs: &[&str]) -> Option<Self> {
        if let Some(missing) = programs.iter().find(|program| found(program).is_none()) {
            skip(&format!("real_programs::{name}"), &format!("{missing} is not installed"));
            return None;
        }
        let (folder, variables, inputs) = (Folder::new(), Vec::new(), Vec::new());
        Some(Self { name, folder, variables, inputs, is_nobody: false })
    }

    /// A variable that the script reads.
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.variables.push((name, value.to_string()));
        self
    }

    /// A file that the script finds in its folder.
    pub fn input(mut self, path: &str, contents: impl Into<String>) -> Self {
        self.inputs.push((path.to_owned(), contents.into()));
        self
    }

    /// Runs both as an unprivileged user, Heaplens included. For programs that refuse root.
    pub fn unprivileged(mut self) -> Self {
        self.is_nobody = true;
        self
    }

    /// Runs the script with and without Heaplens; panics with every difference.
    pub fn unharmed(self, script: &str) {
        self.unharmed_with_status(script, 0);
    }

    /// The same for a script that ends with this status.
    pub fn unharmed_with_status(self, script: &str, status: i32) {
        let alone = self.run("alone", Command::new("bash"), script);
        assert_eq!(alone.output.status.code(), Some(status), "alone:\n{}", talk(&alone.output));
        let recorded = self.run("recorded", self.heaplens(), script);
        let code = recorded.output.status.code();
        assert_ne!(code, Some(HUNG), "it hangs when recorded; until then:\n{}", talk(&recorded.output));
        let (was, is) = (talk(&alone.output), talk(&recorded.output));
        assert!(was == is, "stdout or stderr differ:\n{}", first_difference(&was, &is));
        assert_eq!(code, Some(status), "{}", talk(&recorded.output));
        let differences = tree::differences(&alone.files, &recorded.files);
        assert!(differences.is_empty(), "the files differ:\n{differences}");
        self.assert_sound_recording(status);
    }

    fn heaplens(&self) -> Command {
        let mut command = Heaplens::bare(["run", "-q", "-o"]);
        command.arg(self.recording()).args(["--", "bash"]);
        command
    }

    fn recording(&self) -> PathBuf {
        self.folder.file("out/run.hlr")
    }

    /// Both runs have the same folder under the same path: compilers write it into their output.
    fn run(&self, name: &str, command: Command, script: &str) -> Run {
        let work = self.folder.file("work");
        for folder in ["work", "out", "home", "tmp"] {
            std::fs::create_dir_all(self.folder.file(folder)).expect("the folder is writable");
        }
        for (path, contents) in &self.inputs {
            let file = work.join(path);
            std::fs::create_dir_all(file.parent().expect("a file lies in a folder"))
                .expect("the folder is writable");
            std::fs::write(file, contents).expect("the folder is writable");
        }
        if self.is_nobody {
            give_to_nobody(self.folder.path());
        }
        let output = self.bounded(command).args(["-euc", script]).current_dir(&work).output();
        let files = self.folder.file(name);
        std::fs::rename(&work, &files).expect("the folder is writable");
        Run { output: output.expect("`timeout` is part of every system"), files }
    }

    /// The command under a time limit that ends the whole process group, in an environment that is the same everywhere.
    fn bounded(&self, command: Command) -> Command {
        let mut bounded = Command::new("timeout");
        bounded.args(["--kill-after=10", MOST_SECONDS]);
        if self.is_nobody {
            bounded.args(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]);
            bounded.env("HOME", self.folder.file("home"));
        }
        bounded.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
        bounded.env("LC_ALL", "C").env("TZ", "UTC").env("TMPDIR", self.folder.file("tmp"));
        bounded.envs(self.variables.iter().map(|(name, value)| (name, value)));
        bounded
    }

    fn assert_sound_recording(&self, status: i32) {
        let mut command = Heaplens::bare(["report", "--format", "json"]);
        let output = command.arg(self.recording()).output().expect("heaplens starts");
        assert!(output.status.success(), "{}: the recording is damaged:\n{}", self.name, talk(&output));
        assert_eq!(output.stderr, b"", "{}", talk(&output));
        let report = Report::parse(&output.stdout);
        assert_eq!(report.0["exit"]["code"], status, "{}", report.0["exit"]);
        assert!(!report.pids().is_empty(), "nothing was recorded");
        for damage in ["torn", "damaged", "missing"] {
            assert_eq!(report.loss(damage), 0, "{}: {}", self.name, report.0["losses"]);
        }
    }
}

fn give_to_nobody(folder: &Path) {
    let given = Command::new("chown").args(["-R", "nobody:nogroup"]).arg(folder).status();
    assert!(given.is_ok_and(|status| status.success()), "cannot give {} to nobody", folder.display());
}

/// What is said from the first line on that is not the same, without what is the same again at the end.
fn first_difference(alone: &str, recorded: &str) -> String {
    let same = alone.lines().zip(recorded.lines()).take_while(|(was, is)| was == is).count();
    let rest = |text: &str| text.lines().skip(same).map(str::to_owned).collect::<Vec<_>>();
    let (mut was, mut is) = (rest(alone), rest(recorded));
    while was.last().is_some() && was.last() == is.last() {
        was.pop();
        is.pop();
    }
    format!("line {}, alone:\n{}\nrecorded:\n{}", same + 1, was.join("\n"), is.join("\n"))
}

fn talk(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}--- stderr\n{}", text(&output.stdout), text(&output.stderr))
}
