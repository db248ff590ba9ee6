//! Which process a report is about, and which others it names. A pid has one program image for each `exec`; shells and
//! wrappers that only start something else are left out as soon as something else was recorded.

use heaplens_format::Pid;
use heaplens_format::recording::{Process, ProcessEnd};

/// The process that was asked for is not in the recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("process {pid} was not recorded")]
pub struct NoSuchProcess {
    /// What was asked for.
    pub pid: Pid,
    /// What there is.
    pub known: Vec<Pid>,
}

/// Programs whose work is to start another: shells first, then wrappers.
const STARTERS: &[&str] = &[
    "sh", "ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "rbash", "tcsh", "zsh", //
    "chroot", "chrt", "doas", "env", "flock", "ionice", "make", "nice", "nohup", "numactl", "prlimit",
    "pyenv", "runuser", "script", "setarch", "setpriv", "setsid", "stdbuf", "su", "sudo", "taskset", "time",
    "timeout", "unshare", "xargs",
];

/// Indices into the processes of the recording.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The process the report is about; `None` when nothing was recorded.
    pub(crate) shown: Option<usize>,
    /// One image for each pid worth naming, in the order in which they began.
    pub(crate) visible: Vec<usize>,
}

/// Chooses; `pid` overrules.
pub(crate) fn choose(processes: &[Process], pid: Option<Pid>) -> Result<Choice, NoSuchProcess> {
    let images = images(processes);
    let programs: Vec<usize> = images.iter().copied().filter(|&at| !is_starter(&processes[at])).collect();
    let mut visible = if programs.is_empty() { images.clone() } else { programs };
    let shown = match pid {
        Some(pid) => Some(image_of(processes, &images, pid)?),
        None => main_of(processes, &visible),
    };
    if let Some(shown) = shown.filter(|shown| !visible.contains(shown)) {
        visible.push(shown);
        visible.sort_unstable();
    }
    Ok(Choice { shown, visible })
}

/// The command's own process where it is worth naming, else the one with the highest peak.
fn main_of(processes: &[Process], visible: &[usize]) -> Option<usize> {
    let root = processes.first()?.pid;
    let own = visible.iter().copied().find(|&at| processes[at].pid == root);
    // `max_by_key` takes the last of equals; the first to begin is the better guess.
    own.or_else(|| visible.iter().copied().rev().max_by_key(|&at| processes[at].peak_live))
}

fn image_of(processes: &[Process], images: &[usize], pid: Pid) -> Result<usize, NoSuchProcess> {
    let found = images.iter().copied().find(|&at| processes[at].pid == pid);
    found.ok_or_else(|| NoSuchProcess { pid, known: images.iter().map(|&at| processes[at].pid).collect() })
}

/// The image that stands for each pid: its last one that is a program of its own, else its last one.
fn images(processes: &[Process]) -> Vec<usize> {
    let mut images: Vec<usize> = Vec::new();
    let mut rows = std::collections::HashMap::new();
    for (at, process) in processes.iter().enumerate() {
        match rows.get(&process.pid) {
            None => {
                rows.insert(process.pid, images.len());
                images.push(at);
            }
            Some(&row) if !is_passing(process) || is_passing(&processes[images[row]]) => images[row] = at,
            Some(_) => {}
        }
    }
    images
}

/// Whether an image is only a step to another program: a starter, or a forked copy that went on to `exec`.
fn is_passing(process: &Process) -> bool {
    is_starter(process) || (process.forked && process.end == ProcessEnd::Replaced)
}

fn is_starter(process: &Process) -> bool {
    STARTERS.contains(&program_name(process))
}

/// The file name of the executable, or of the first word where that is not known.
fn program_name(process: &Process) -> &str {
    let path = match process.executable.as_str() {
        "" => process.command.first().map_or("", String::as_str),
        executable => executable,
    };
    path.rsplit('/').next().unwrap_or(path).trim_end_matches(" (deleted)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::Bytes;

    fn process(pid: u32, executable: &str, peak: u64) -> Process {
        Process {
            pid: Pid::new(pid),
            executable: executable.to_owned(),
            peak_live: Bytes::new(peak),
            ..Process::default()
        }
    }

    fn replaced(process: Process) -> Process {
        Process { forked: true, end: ProcessEnd::Replaced, ..process }
    }

    fn shown(processes: &[Process]) -> Option<usize> {
        choose(processes, None).unwrap().shown
    }

    #[test]
    fn the_command_itself_is_shown_though_a_child_has_the_higher_peak() {
        assert_eq!(shown(&[process(1, "/opt/server", 10), process(2, "/opt/worker", 99)]), Some(0));
    }

    #[test]
    fn a_shell_gives_way_to_the_program_with_the_highest_peak() {
        let tree = [process(1, "/bin/bash", 500), process(2, "/usr/bin/ls", 10), process(3, "/opt/app", 99)];
        assert_eq!(choose(&tree, None).unwrap(), Choice { shown: Some(2), visible: vec![1, 2] });
    }

    #[test]
    fn a_shell_that_becomes_the_program_is_followed_through_exec() {
        assert_eq!(
            shown(&[process(1, "/bin/sh", 5), process(2, "/opt/other", 99), process(1, "/opt/app", 7)]),
            Some(2)
        );
    }

    #[test]
    fn a_program_that_becomes_a_shell_stays_the_program() {
        assert_eq!(shown(&[process(1, "/opt/app", 5), process(1, "/bin/sh", 7)]), Some(0));
    }

    #[test]
    fn a_forked_copy_that_went_on_to_a_shell_is_not_named() {
        let tree = [process(1, "/opt/app", 5), replaced(process(2, "/opt/app", 5)), process(2, "/bin/sh", 7)];
        assert_eq!(choose(&tree, None).unwrap().visible, [0]);
    }

    #[test]
    fn only_shells_means_a_shell_is_shown() {
        assert_eq!(
            choose(&[process(1, "/bin/dash", 5)], None).unwrap(),
            Choice { shown: Some(0), visible: vec![0] }
        );
    }

    #[test]
    fn a_pid_overrules_and_may_name_a_shell() {
        let tree = [process(1, "/bin/bash", 500), process(2, "/opt/app", 99)];
        let choice = choose(&tree, Some(Pid::new(1))).unwrap();
        assert_eq!(choice, Choice { shown: Some(0), visible: vec![0, 1] });
    }

    #[test]
    fn a_pid_that_was_not_recorded_is_refused_with_those_that_were() {
        let refused = choose(&[process(1, "/opt/app", 5)], Some(Pid::new(9))).unwrap_err();
        assert_eq!(refused, NoSuchProcess { pid: Pid::new(9), known: vec![Pid::new(1)] });
    }

    #[test]
    fn nothing_recorded_means_nothing_shown() {
        assert_eq!(choose(&[], None).unwrap(), Choice::default());
    }
}
