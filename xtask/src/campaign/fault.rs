//! What can go wrong in a run, and doing it to a process.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::random::Random;

/// One fault; times are milliseconds after the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// None: the run itself is the test.
    Nothing,
    /// SIGKILL to the program.
    KillProgram { after_ms: u64 },
    /// SIGKILL to the recorder; the program runs on.
    KillRecorder { after_ms: u64 },
    /// SIGSTOP and SIGCONT to both, in turn.
    Stop { after_ms: u64, times: u64 },
    /// Signals that are ignored by default, to both, as fast as a shell can.
    Signals { after_ms: u64, times: u64 },
    /// `ulimit -v`: mappings fail.
    AddressSpace { kib: u64 },
    /// `ulimit -f`: files cannot grow.
    FileSize { kib: u64 },
    /// `ulimit -n`: nothing can be opened.
    Descriptors { most: u64 },
    /// The arenas lie on a file system of this size.
    SmallDisk { kib: u64 },
}

impl Fault {
    /// Any of them, with numbers around where things begin to fail.
    pub fn choose(random: &mut Random, can_mount: bool) -> Self {
        // Most programs are done after some milliseconds: early moments come more often.
        let latest = random.between(1, 40);
        let after_ms = random.between(0, latest);
        match random.between(0, if can_mount { 9 } else { 8 }) {
            0 => Self::Nothing,
            1 => Self::KillProgram { after_ms },
            2 => Self::KillRecorder { after_ms },
            3 => Self::Stop { after_ms, times: random.between(1, 6) },
            4 => Self::Signals { after_ms, times: random.between(10, 200) },
            5 => Self::AddressSpace { kib: random.between(100 << 10, 4 << 20) },
            6 => Self::FileSize { kib: random.between(0, 2048) },
            7 => Self::Descriptors { most: random.between(3, 12) },
            _ => Self::SmallDisk { kib: random.between(4, 4096) },
        }
    }

    /// What the shell does before it becomes the program, if anything.
    pub fn limit(self) -> Option<String> {
        match self {
            Self::AddressSpace { kib } => Some(format!("ulimit -v {kib}")),
            // The shell counts in blocks of 512 bytes.
            Self::FileSize { kib } => Some(format!("ulimit -f {}", kib * 2)),
            Self::Descriptors { most } => Some(format!("ulimit -n {most}")),
            _ => None,
        }
    }

    /// Does it to a recorder that was just started and to its program, where it is a matter of signals.
    pub fn inject(self, recorder: u32) -> Injected {
        match self {
            Self::KillProgram { after_ms } => {
                pause(after_ms);
                let program = child_of(recorder);
                let sent = program.is_some_and(|program| send("KILL", &[program]));
                Injected { killed_program: sent, session: None }
            }
            Self::KillRecorder { after_ms } => {
                pause(after_ms);
                send("KILL", &[recorder]);
                Injected { killed_program: false, session: sessions_of(recorder).pop() }
            }
            Self::Stop { after_ms, times } => {
                pause(after_ms);
                (0..times).for_each(|time| stop_and_go(recorder, time));
                Injected::default()
            }
            Self::Signals { after_ms, times } => {
                pause(after_ms);
                storm(recorder, times);
                Injected::default()
            }
            _ => Injected::default(),
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Injected {
    /// Whether the program was there to be killed.
    pub killed_program: bool,
    /// Where the arenas of a killed recorder are.
    pub session: Option<PathBuf>,
}

fn pause(milliseconds: u64) {
    thread::sleep(Duration::from_millis(milliseconds));
}

fn stop_and_go(recorder: u32, time: u64) {
    let process = if time.is_multiple_of(2) { child_of(recorder) } else { Some(recorder) };
    let Some(process) = process else { return };
    send("STOP", &[process]);
    pause(3);
    send("CONT", &[process]);
}

/// One shell sends them all: starting a process for each would be no storm.
fn storm(recorder: u32, times: u64) {
    let Some(program) = child_of(recorder) else { return };
    let script = format!(
        "i=0; while [ $i -lt {times} ]; do kill -WINCH {program} {recorder} || exit; kill -URG {program}; i=$((i + 1)); done"
    );
    shell(&script);
}

fn send(signal: &str, processes: &[u32]) -> bool {
    let list: Vec<String> = processes.iter().map(u32::to_string).collect();
    shell(&format!("kill -{signal} {}", list.join(" ")))
}

/// The shell's own `kill`: a process that is gone already is no failure of the campaign.
fn shell(script: &str) -> bool {
    let status = Command::new("sh").args(["-c", script]).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Ends a whole process group.
pub fn end_group(leader: u32) {
    shell(&format!("kill -KILL -{leader}"));
}

/// What the processes of a group are doing: name, state and CPU time in ticks of each.
pub fn states_of_group(leader: u32) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats.filter_map(|stat| state_in_group(&stat, leader)).collect()
}

/// Fields 3, 5 and 14 of proc_pid_stat(5), counted from behind the name, which may hold blanks and brackets.
fn state_in_group(stat: &str, leader: u32) -> Option<String> {
    let (name, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let is_member = fields.get(2)?.parse() == Ok(leader);
    is_member.then(|| format!("{name}) {} {} ticks", fields[0], fields.get(11).unwrap_or(&"?")))
}

/// The first child of a process, while both live.
fn child_of(process: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
    children.split_ascii_whitespace().next()?.parse().ok()
}

/// The sessions that a recorder left: its number is in their names.
pub fn sessions_of(recorder: u32) -> Vec<PathBuf> {
    let prefix = format!("heaplens-{recorder}-");
    let places = [PathBuf::from("/dev/shm"), std::env::temp_dir(), PathBuf::from("/tmp")];
    let entries = places.iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    named.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_members_of_the_group_are_told_with_their_state() {
        let stat = "7 (a) b) R 1 42 7 0 -1 4228364 100 25 3 4 17 0";
        assert_eq!(state_in_group(stat, 42).as_deref(), Some("7 (a) b) R 17 ticks"));
        assert_eq!(state_in_group(stat, 7), None);
    }
}
