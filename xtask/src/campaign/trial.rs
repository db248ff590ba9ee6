//! One run of the campaign and the judgement on it.

use std::collections::BTreeMap;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::fault::{Fault, Injected, end_group, sessions_of, states_of_group};
use super::program::Program;
use crate::workspace::printed;

/// The longest that a run may take. Alone the slowest program needs half a second.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What a program does alone: its status and the lines that matter.
type RunEnd = (Option<i32>, Vec<String>);

/// Everything that runs have in common.
#[derive(Debug)]
pub struct Bench {
    heaplens: PathBuf,
    folder: PathBuf,
    agent: String,
    can_mount: bool,
    alone: BTreeMap<(&'static str, Option<String>), RunEnd>,
    met: BTreeMap<&'static str, u64>,
}

impl Bench {
    /// Finds out what is possible here.
    pub fn new(heaplens: PathBuf, folder: PathBuf) -> Result<Self> {
        let shell = ["run", "-o", "/dev/null", "--", "/bin/sh", "-c", "echo agent $HEAPLENS_AGENT"];
        let said = printed(Command::new(&heaplens).args(shell).current_dir(&folder))?;
        let agent =
            said.lines().find_map(|line| line.strip_prefix("agent ")).context("no agent was loaded")?;
        let mount = Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
        let can_mount = mount.is_ok_and(|output| output.status.success());
        let (alone, met) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { heaplens, folder, agent: agent.to_owned(), can_mount, alone, met })
    }

    /// Whether a run can have a file system of its own.
    pub fn can_mount(&self) -> bool {
        self.can_mount
    }

    /// Runs a program with a fault; what went wrong, if anything.
    pub fn run(&mut self, program: &Program, fault: Fault) -> Result<Option<String>> {
        for name in ["run.hlr", "run.json"] {
            std::fs::remove_file(self.folder.join(name)).ok();
        }
        let alone = self.alone(program, fault)?;
        let mut child = self.start(program, fault)?;
        let leader = child.id();
        let output = collect(&mut child);
        let injected = fault.inject(leader);
        let judged = match output.recv_timeout(TIMEOUT) {
            Ok((stdout, stderr)) => {
                let status = child.wait().context("a child can be waited for")?;
                self.judge(program, fault, &injected, &alone, &Output { status, stdout, stderr })
            }
            Err(_) => {
                let states = states_of_group(leader);
                end_group(leader);
                child.wait().context("a child can be waited for")?;
                Some(format!("it hung for {} seconds: {states:?}", TIMEOUT.as_secs()))
            }
        };
        // What cannot be removed harms no other run: names are never used twice.
        sessions_of(leader).iter().for_each(|session| drop(std::fs::remove_dir_all(session)));
        Ok(judged)
    }

    /// How many runs met what.
    pub fn say_what_was_met(&self) {
        self.met.iter().for_each(|(what, count)| println!("  {count:6}  {what}"));
    }

    /// The program without Heaplens, under the same limit.
    fn alone(&mut self, program: &Program, fault: Fault) -> Result<RunEnd> {
        let key = (program.name(), fault.limit());
        if let Some(known) = self.alone.get(&key) {
            return Ok(known.clone());
        }
        let result = ending(program, fault)?;
        // Limits are random: only what comes again is kept.
        if key.1.is_none() {
            self.alone.insert(key, result.clone());
        }
        Ok(result)
    }

    fn start(&self, program: &Program, fault: Fault) -> Result<Child> {
        let mut command = match fault {
            Fault::SmallDisk { kib } => self.on_small_disk(program, kib),
            // A shell in between keeps the status, which nobody else could ask for once the recorder is gone.
            Fault::KillRecorder { .. } => self.recorded(limited(fault, program, "\"$@\"; echo status $?")),
            _ if fault.limit().is_some() => self.recorded(limited(fault, program, "exec \"$@\"")),
            _ => self.recorded(direct(program)),
        };
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        command.spawn().with_context(|| format!("cannot start {command:?}"))
    }

    fn recorded(&self, program: Command) -> Command {
        let mut command = Command::new(&self.heaplens);
        command.args(["run", "-o"]).arg(self.folder.join("run.hlr")).arg("--");
        command.arg(program.get_program()).args(program.get_args());
        command
    }

    /// The recorder looks for the roomiest place, so the agent is preloaded without one.
    fn on_small_disk(&self, program: &Program, kib: u64) -> Command {
        let script = format!(
            "mount -t tmpfs -o size={kib}k none /mnt && chmod 777 /mnt || exit 96
            HEAPLENS_DIR=/mnt HEAPLENS_AGENT={agent} LD_PRELOAD={agent} \"$@\"; status=$?
            {heaplens} report /mnt --format json >{folder}/run.json 2>{folder}/said ||
                grep -q 'no arena' {folder}/said || {{ cat {folder}/said >&2; exit 95; }}
            exit $status",
            agent = self.agent,
            heaplens = self.heaplens.display(),
            folder = self.folder.display(),
        );
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &script, "sh"]).args(program.command());
        command
    }

    fn judge(
        &mut self,
        program: &Program,
        fault: Fault,
        injected: &Injected,
        alone: &RunEnd,
        output: &Output,
    ) -> Option<String> {
        let stderr = String::from_utf8_lossy(&output.stderr);
        if stderr.contains("panicked") || matches!(code(output), Some(101 | 134)) {
            return Some(format!("a panic of ours:\n{stderr}"));
        }
        let here = (code(output), program.essence(&output.stdout));
        let changed = match fault {
            _ if injected.killed_program && code(output) == Some(128 + 9) => None,
            Fault::KillRecorder { .. } => difference_of_orphan(program, alone, output),
            _ if fault.limit().is_some() && here != *alone && ends_so_alone(program, fault, &here) => {
                self.met("a limit under which the program alone ends in more than one way")
            }
            _ => difference(alone, here),
        };
        if let Some(changed) = changed {
            return Some(format!("{changed}\n{stderr}"));
        }
        if injected.killed_program {
            self.met("program killed");
        }
        self.unreadable(fault, injected, &stderr)
    }

    /// What is wrong with the recording, if anything.
    fn unreadable(&mut self, fault: Fault, injected: &Injected, stderr: &str) -> Option<String> {
        let source = match (fault, &injected.session) {
            (Fault::SmallDisk { .. }, _) => return self.met("arenas on a small disk"),
            (Fault::KillRecorder { .. }, Some(session)) => session.clone(),
            (Fault::KillRecorder { .. }, None) => {
                return self.met("recorder killed before or after its session");
            }
            _ if stderr.contains("nothing was recorded") => return self.met("nothing recorded, and said so"),
            _ => self.folder.join("run.hlr"),
        };
        match report(&self.heaplens, &source) {
            Ok(()) => self.met("readable"),
            // Killed before the agent had made its arena.
            Err(why) if injected.session.is_some() && why.to_string().contains("arena") => {
                self.met("session without an arena yet")
            }
            Err(why) => Some(format!("{} cannot be reported: {why}\n{stderr}", source.display())),
        }
    }

    fn met(&mut self, what: &'static str) -> Option<String> {
        *self.met.entry(what).or_default() += 1;
        None
    }
}

/// How often a program is asked alone, under a limit, whether it also ends as it did here.
const ASKED: u32 = 200;

/// Threads that start together fit under a limit or do not, as they happen to overlap: there the program alone has no
/// one ending that could be compared, but several.
fn ends_so_alone(program: &Program, fault: Fault, here: &RunEnd) -> bool {
    (0..ASKED).any(|_| ending(program, fault).is_ok_and(|alone| alone == *here))
}

/// How the program ends without Heaplens, this time.
fn ending(program: &Program, fault: Fault) -> Result<RunEnd> {
    let output = limited(fault, program, "exec \"$@\"").output().context("cannot start `sh`")?;
    Ok((code(&output), program.essence(&output.stdout)))
}

/// The shell that sets the limit and then does what `script` says with the program.
fn limited(fault: Fault, program: &Program, script: &str) -> Command {
    let limit = fault.limit().map_or_else(String::new, |limit| format!("{limit}; "));
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("{limit}{script}"), "sh"]).args(program.command()).stdin(Stdio::null());
    command
}

fn direct(program: &Program) -> Command {
    let words = program.command();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

/// Reads both streams to their ends, which come when the last process of the run has ended.
fn collect(child: &mut Child) -> mpsc::Receiver<(Vec<u8>, Vec<u8>)> {
    let (sender, receiver) = mpsc::channel();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::spawn(move || {
        let talk = thread::spawn(move || read_all(stderr));
        let text = read_all(stdout);
        // Nobody listens any more when the run hung and was given up.
        sender.send((text, talk.join().unwrap_or_default())).ok();
    });
    receiver
}

fn read_all(stream: Option<impl std::io::Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A stream that breaks ends there: the comparison will say so.
    stream.map(|mut stream| stream.read_to_end(&mut bytes));
    bytes
}

/// As a shell counts it.
fn code(output: &Output) -> Option<i32> {
    output.status.code().or_else(|| output.status.signal().map(|signal| 128 + signal))
}

fn difference(alone: &RunEnd, here: RunEnd) -> Option<String> {
    (here != *alone).then(|| format!("alone {alone:?}, here {here:?}"))
}

/// The shell's last line has the status. Killed before the shell began, the run has nothing to say.
fn difference_of_orphan(program: &Program, alone: &RunEnd, output: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let status = text.lines().find_map(|line| line.strip_prefix("status "))?.parse().ok();
    let own: String =
        text.lines().filter(|line| !line.starts_with("status ")).map(|line| format!("{line}\n")).collect();
    difference(alone, (status, program.essence(own.as_bytes())))
}

/// Whether a recording or a session gives a report.
fn report(heaplens: &Path, source: &Path) -> Result<()> {
    let output = Command::new(heaplens).args(["report", "--format", "json"]).arg(source).output();
    let output = output.context("cannot start heaplens")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice::<serde_json::Value>(&output.stdout).map(drop).context("the report is no JSON")
}
