//! Whoever takes a snapshot is killed at each of its steps: the program goes on where it was, with what it had, and nothing of the
//! snapshot stays. `tests/programs/killed_at.c` counts the steps.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::harness::{Folder, Heaplens, program, shared_library};

/// More than any snapshot of these programs takes.
const MOST_STEPS: usize = 400;

/// A program that is being recorded and of which its recorder takes no snapshot.
pub struct Running {
    run: Child,
    output: BufReader<ChildStdout>,
    pid: u32,
    folder: Folder,
}

impl Running {
    /// As the recorder's own child, or as a shell's: a snapshot is made by one of two code paths.
    pub fn start(mode: &str, is_in_shell: bool) -> Self {
        let own = program("images.c");
        let script = format!("{} {mode}; exit $?", own.display());
        let words: Vec<&str> = if is_in_shell { vec!["-c", &script] } else { mode.split(' ').collect() };
        let command = if is_in_shell { Path::new("/bin/sh") } else { &own };
        let run =
            words.iter().fold(Heaplens::on(command, &["--quiet", "--passive", "--heap=no"]), Heaplens::arg);
        let (folder, mut command) = run.into_parts();
        let mut run = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("heaplens starts");
        let mut output = BufReader::new(run.stdout.take().expect("stdout is a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("the program is ready");
        let pid = line.split(' ').nth(1).and_then(|word| word.parse().ok()).expect(&line);
        Self { run, output, pid, folder }
    }

    /// `heaplens snapshot` of it.
    pub fn snapshot(&self) -> Command {
        let mut command = Heaplens::bare(["snapshot", "--passive", "-o"]);
        command.arg(self.folder.file("snapshot.hlr")).arg(self.pid.to_string());
        command
    }

    /// Whether it was killed at this step: else it came to its end before.
    fn snapshot_killed_at(&self, step: usize) -> bool {
        let mut command = self.snapshot();
        command.env("LD_PRELOAD", shared_library("killed_at.c")).env("KILLED_AT", step.to_string());
        let output = command.output().expect("heaplens starts");
        assert!(output.status.signal() == Some(9) || output.status.success(), "{output:?}");
        output.status.signal() == Some(9)
    }

    /// What the last one that was not killed has seen of the heap, or why it has not.
    pub fn seen(&self) -> Result<String, String> {
        let output = Heaplens::bare(["heap"]).arg(self.folder.file("snapshot.hlr")).output();
        let output = output.expect("heaplens starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// Processes that the recorder has as children: forked snapshots are reparented to it.
    fn children_of_recorder(&self) -> usize {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.run.id())).expect("the recorder runs");
        let children = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children"));
        let lists = tasks.filter_map(|task| children(task.ok()?).ok());
        lists.map(|list| list.split_ascii_whitespace().count()).sum()
    }

    /// Tells it to end, when nothing of a snapshot is left; what it says.
    pub fn finish(mut self) -> String {
        while self.children_of_recorder() > 1 {
            std::thread::yield_now(); // the kernel ends them when it ends who traces them
        }
        self.run.stdin.take().expect("stdin is a pipe").write_all(b"\n").expect("the program listens");
        let mut said = String::new();
        self.output.read_to_string(&mut said).expect("the program ends");
        assert!(self.run.wait().expect("heaplens ends").success(), "{said}");
        said
    }
}

fn killed_at_each_step(mode: &str, is_in_shell: bool, expected: &str) {
    let running = Running::start(mode, is_in_shell);
    let steps = (1..=MOST_STEPS).take_while(|&step| running.snapshot_killed_at(step)).count();
    assert!((40..MOST_STEPS).contains(&steps), "{mode}: a snapshot takes {steps} steps");
    let seen = running.seen().unwrap_or_else(|why| panic!("{mode}, step {steps}: {why}"));
    let words: Vec<&str> = seen.split_ascii_whitespace().collect(); // lines are broken between them
    assert!(words.join(" ").contains("program paused for"), "{seen}");
    assert_eq!(running.finish(), expected, "{mode}, in a shell: {is_in_shell}");
}

#[test]
fn a_program_computes_on() {
    killed_at_each_step("alone computes", false, "bad=0\n");
    killed_at_each_step("alone computes", true, "bad=0\n");
}

#[test]
fn a_sleep_goes_on_and_is_no_shorter() {
    killed_at_each_step("alone sleeps", false, "bad=0\n");
    killed_at_each_step("alone sleeps", true, "bad=0\n");
}

#[test]
fn a_call_that_waits_goes_on() {
    killed_at_each_step("alone reads", false, "bad=0\n");
    killed_at_each_step("alone reads", true, "bad=0\n");
}

#[test]
fn no_child_and_no_signal_is_left() {
    let expected = "signals=0 waited=0 listed=0 tracer=0 loops=1\n";
    killed_at_each_step("children", false, expected);
    killed_at_each_step("children", true, expected);
}
