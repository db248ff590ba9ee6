//! One script, run alone and recorded, on request also with all checks, and everything about the runs compared.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::{found, tree};
use crate::harness::{Folder, Heaplens, Report, skip};

/// Long enough for the slowest long run on a slow machine: reached only by a program that hangs.
const MOST_SECONDS: &str = "1200";
/// Set where programs are also to be run with all checks, which takes a while.
const CHECKED: &str = "HEAPLENS_CHECKED";
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
        assert_same(&alone, &recorded, status);
        self.assert_sound_recording(status);
        if std::env::var_os(CHECKED).is_some() {
            assert_same(&alone, &self.run("checked", self.memcheck(), script), status);
            self.assert_no_errors();
        }
    }

    fn heaplens(&self) -> Command {
        let mut command = Heaplens::bare(["run", "-q", "-o"]);
        command.arg(self.recording()).args(["--", "bash"]);
        command
    }

    /// With all checks, in every process.
    fn memcheck(&self) -> Command {
        let options = ["memcheck", "-q", "--trace-children=yes", "--leak-check=full", "--guard=all"];
        let mut command = Heaplens::bare(options);
        command.arg(format!("--log-file={}", self.folder.file("out/memcheck.txt").display()));
        command.arg("--json").arg(self.checked_report()).args(["--", "bash"]);
        command
    }

    fn checked_report(&self) -> PathBuf {
        self.folder.file("out/memcheck.json")
    }

    /// None of these programs is known to do anything wrong with memory.
    fn assert_no_errors(&self) {
        let text = std::fs::read(self.checked_report()).expect("memcheck wrote a report");
        let report = Report::parse(&text);
        assert_eq!(report.0["errors"], serde_json::json!([]), "{}", self.name);
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

/// Output, exit status and files are those of the program alone.
fn assert_same(alone: &Run, other: &Run, status: i32) {
    let code = other.output.status.code();
    assert_ne!(code, Some(HUNG), "it hangs under Heaplens; until then:\n{}", talk(&other.output));
    let (was, is) = (talk(&alone.output), talk(&other.output));
    assert!(was == is, "stdout or stderr differ:\n{}", first_difference(&was, &is));
    assert_eq!(code, Some(status), "{}", talk(&other.output));
    let differences = tree::differences(&alone.files, &other.files);
    assert!(differences.is_empty(), "the files differ:\n{differences}");
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
