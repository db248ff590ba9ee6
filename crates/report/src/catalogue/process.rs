//! What a run and its processes are called: how they ended, their interpreter, their main loop, what was lost of them.

use heaplens_analyze::profile::{Iterations, LossLine, ProcessRow};
use heaplens_analyze::{ProcessGroup, Profile, TreeLoss};
use heaplens_format::Bytes;
use heaplens_format::recording::{self, Exit, Interpreter, ProcessEnd, Reading};

use super::number::count;
use super::wording::{cut, one_line, plural_count};

/// Processes of a group whose resident memory differs by less, as a part of it, have the same.
const ALIKE: f64 = 0.1;

/// Longest command of another process.
const LONGEST_COMMAND: usize = 60;

/// Whether the process shown goes on.
pub(crate) fn is_running(profile: &Profile) -> bool {
    profile.shown().is_some_and(|row| row.end == ProcessEnd::Running)
}

/// Whose verdict the page has, where that is not the command's own process: `8 workers, each `.
pub(crate) fn subject(profile: &Profile) -> String {
    let groups = profile.groups();
    match groups.iter().find(|group| group.has(profile.pid)) {
        Some(group) if group.members.len() > 1 || profile.pid != profile.main => subject_of(group),
        _ => String::new(),
    }
}

/// `8 workers, each `, `forked process 4713: `, `process 4713 (./columns): `.
pub(crate) fn subject_of(group: &ProcessGroup<'_>) -> String {
    let row = group.worst().row;
    match (group.members.len(), row.forked) {
        (1, true) => format!("forked process {}: ", row.pid),
        (1, false) => format!("process {} ({}): ", row.pid, short_command(row)),
        (_, true) => format!("{}, each {}", crowd(group), about(group)),
        (_, false) => format!("{} ({}), each {}", crowd(group), short_command(row), about(group)),
    }
}

/// `8 workers`, `3 processes`.
pub(crate) fn crowd(group: &ProcessGroup<'_>) -> String {
    let number = group.members.len() as u64;
    match group.worst().row {
        row if row.forked || row.command.iter().any(|word| word == SPAWNED) => plural_count(number, "worker"),
        _ => format!("{} processes", count(number)),
    }
}

/// The last word of workers that Python's multiprocessing starts anew.
const SPAWNED: &str = "--multiprocessing-fork";

/// Nothing where all have about the same resident memory.
fn about(group: &ProcessGroup<'_>) -> &'static str {
    let ends =
        || group.members.iter().filter_map(|member| member.profile.rss).map(|rss| rss.end.get() as f64);
    let (least, most) = ends().fold((f64::MAX, 0.0f64), |(least, most), end| (least.min(end), most.max(end)));
    if least >= (1.0 - ALIKE) * most { "" } else { "up to " }
}

fn short_command(row: &ProcessRow) -> String {
    cut(&one_line(&row.command.join(" ")), LONGEST_COMMAND)
}

/// `1,000 of the loop at train.py:41 in main`; a count that may lack some has an `≈`, and what a library's iterations are is added.
pub(crate) fn iterations(found: &Iterations) -> String {
    let about = if found.is_exact { "" } else { "≈ " };
    let file = one_line(found.file.rsplit('/').next().unwrap_or_default());
    let function = one_line(&found.function);
    let steps = found.steps.map_or_else(String::new, |steps| format!(" ({steps})"));
    format!("{about}{} of the loop at {file}:{} in {function}{steps}", count(found.count), found.line)
}

pub(crate) fn python_name(python: Interpreter) -> String {
    match (python.major, python.minor) {
        (0, _) => "Python".to_owned(),
        (major, 0) => format!("Python {major}"),
        (major, minor) => format!("Python {major}.{minor}"),
    }
}

/// Why a Python program has native stacks only.
pub(crate) fn why_unread(reading: Reading) -> &'static str {
    match reading {
        Reading::Frames => "Python frames were recorded",
        Reading::UnknownVersion => "unsupported version, stacks are native only",
        Reading::FreeThreaded => "free-threaded builds are not supported, stacks are native only",
        Reading::DebugBuild => "debug builds are not supported, stacks are native only",
    }
}

pub(crate) fn ending(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => format!("exit {code}"),
        Some(Exit::Signal(signal)) => format!("killed by {}", signal_name(signal)),
        None => "exit unknown".to_owned(),
    }
}

pub(crate) fn process_end(end: ProcessEnd) -> String {
    match end {
        ProcessEnd::Unknown => "exit unknown".to_owned(),
        ProcessEnd::Ended(Exit::Signal(signal)) => signal_name(signal),
        ProcessEnd::Ended(exit) => ending(Some(exit)),
        ProcessEnd::Replaced => "called exec".to_owned(),
        ProcessEnd::Running => "running".to_owned(),
    }
}

fn signal_name(signal: i32) -> String {
    recording::signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}

pub(crate) fn loss_words(loss: &LossLine) -> String {
    match loss.of {
        Some(of) => format!("{} of {} {}", count(loss.count), count(of), loss.what),
        None => format!("{} {}", count(loss.count), loss.what),
    }
}

/// A loss of the tree: `12 … (process 4713)`, where other processes than the one shown have it.
pub(crate) fn tree_loss_words(profile: &Profile, loss: &TreeLoss) -> String {
    let words = loss_words(&loss.line);
    match loss.pids.as_slice() {
        [pid] if Some(*pid) == profile.pid => words,
        [pid] => format!("{words} (process {pid})"),
        pids => format!("{words} (in {} processes)", count(pids.len() as u64)),
    }
}

/// Other processes of the tree, in groups that did the same, those with the worst verdict first. The largest of each stands for it.
pub(crate) fn other_processes(profile: &Profile) -> Vec<OtherProcesses> {
    let groups = profile.groups();
    let rank = |rank: usize, group: &ProcessGroup<'_>| if group.is_at_fault() { rank } else { usize::MAX };
    let mut others: Vec<(usize, OtherProcesses)> = groups
        .iter()
        .enumerate()
        .filter_map(|(at, group)| Some((rank(at, group), OtherProcesses::of(group)?)))
        .collect();
    others.sort_by_key(|(rank, other)| (*rank, std::cmp::Reverse(other.peak)));
    others.into_iter().map(|(_, other)| other).collect()
}

/// A row of the table of other processes.
pub(crate) struct OtherProcesses {
    /// `4713`, `8 workers`.
    pub(crate) name: String,
    pub(crate) end: String,
    /// Live heap bytes at the end and at the peak, of the largest.
    pub(crate) live: Bytes,
    pub(crate) peak: Bytes,
    pub(crate) verdict: &'static str,
    pub(crate) command: String,
}

impl OtherProcesses {
    /// `None` where the process shown is the only one.
    fn of(group: &ProcessGroup<'_>) -> Option<Self> {
        let rows: Vec<&ProcessRow> =
            group.members.iter().map(|member| member.row).filter(|row| !row.shown).collect();
        let largest = rows.iter().copied().rev().max_by_key(|row| row.peak)?;
        let is_alone = rows.len() == 1;
        let ends_alike = rows.iter().all(|row| row.end == largest.end);
        let command = one_line(&largest.command.join(" "));
        let others = ProcessGroup {
            members: group.members.iter().filter(|member| !member.row.shown).copied().collect(),
            counts: group.counts,
        };
        Some(Self {
            name: if is_alone { largest.pid.to_string() } else { crowd(&others) },
            end: if ends_alike { process_end(largest.end) } else { String::new() },
            live: largest.live,
            peak: largest.peak,
            verdict: judged(group),
            command: if is_alone { command } else { format!("each: {command}") },
        })
    }
}

/// What became of a group: the verdict, unless the growth ended with the processes.
fn judged(group: &ProcessGroup<'_>) -> &'static str {
    match group.worst().profile.verdict() {
        Some(_) if !group.counts => "returned at exit",
        Some(verdict) => verdict.name(),
        None => "",
    }
}

pub(crate) fn version(profile: &Profile) -> &str {
    match profile.run.heaplens.as_str() {
        "" => env!("CARGO_PKG_VERSION"),
        recorded => recorded,
    }
}
