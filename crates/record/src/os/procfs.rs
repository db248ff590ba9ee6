//! Readings of a living process from `/proc`. It keeps nothing between two readings.

use std::path::{Path, PathBuf};

use heaplens_format::environment::ARENA_SUFFIX;
use heaplens_format::{Bytes, Pid};

/// Resident memory of a process, Heaplens's own part included, and its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resident {
    /// Now.
    pub(crate) now: Bytes,
    /// At most since its program began (`exec` begins anew).
    pub(crate) peak: Bytes,
    /// Its threads; 0 where that is unknown.
    pub(crate) threads: u32,
    /// The thread by whose number its memory is found: its first, but where that one has ended and others run on.
    pub(crate) by: Pid,
}

/// Reads it; `None` when the process is gone or a zombie, which has no memory any more.
pub(crate) fn resident(process: Pid) -> Option<Resident> {
    resident_by(process).or_else(|| threads(process).into_iter().find_map(resident_by))
}

fn resident_by(thread: Pid) -> Option<Resident> {
    let statm = std::fs::read_to_string(format!("/proc/{thread}/statm")).ok()?;
    let now = resident_of_statm(&statm)?;
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let peak = field_of_status(&status, "VmHWM:").map_or(now, |kib| Bytes::new(kib * 1024));
    let threads = field_of_status(&status, "Threads:").and_then(|threads| threads.try_into().ok());
    Some(Resident { now, peak: peak.max(now), threads: threads.unwrap_or_default(), by: thread })
}

/// The numbers of its threads; none where it is gone.
fn threads(process: Pid) -> Vec<Pid> {
    let names = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    names.filter_map(|name| name.ok()?.file_name().to_str()?.parse().ok().map(Pid::new)).collect()
}

fn resident_of_statm(statm: &str) -> Option<Bytes> {
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    (pages > 0).then(|| Bytes::new(pages * rustix::param::page_size() as u64))
}

/// The number after a name; the kernel's unit for memory is KiB.
fn field_of_status(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// What a copy of a process would cost it, and whether it can make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    /// Its parent, as this process numbers it.
    pub(crate) parent: Pid,
    /// Resident memory that is its own and can be written to.
    pub(crate) anonymous: Bytes,
    /// Whether it has a seccomp filter of its own.
    pub(crate) is_restricted: bool,
}

/// Reads it; `None` when the process is gone.
pub(crate) fn condition(process: Pid) -> Option<Condition> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let field = |name: &str| field_of_status(&status, name);
    Some(Condition {
        parent: Pid::new(field("PPid:")?.try_into().ok()?),
        anonymous: Bytes::new(field("RssAnon:")? * 1024),
        is_restricted: is_restricted(&status, &own_status()),
    })
}

fn own_status() -> String {
    std::fs::read_to_string("/proc/self/status").unwrap_or_default()
}

/// Seccomp filters are inherited and never removed. Those that this process has, too, as in most containers, are not the
/// program's own. Before Linux 5.9 they are not counted.
fn is_restricted(status: &str, own: &str) -> bool {
    let filters = |status: &str| field_of_status(status, "Seccomp_filters:");
    let has_more = filters(status).is_none_or(|count| Some(count) != filters(own));
    field_of_status(status, "Seccomp:").is_some_and(|mode| mode != 0) && has_more
}

/// Whether somebody traces a thread.
pub(crate) fn is_traced(thread: libc::pid_t) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    field_of_status(&status, "TracerPid:").is_some_and(|tracer| tracer != 0)
}

/// Page faults of a process that needed no disk: field 10 of proc_pid_stat(5).
pub(crate) fn minor_faults(process: Pid) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(7)?.parse().ok()
}

/// Whether an ended child had children of its own that it waited for: their page faults are in its account.
pub(crate) fn waited_for_children(zombie: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{zombie}/stat")).unwrap_or_default();
    child_faults_of_stat(&stat) != Some(0)
}

/// Fields 11 and 13 of proc_pid_stat(5), counted after the name, which may contain blanks and brackets.
fn child_faults_of_stat(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let minor: u64 = fields.nth(8)?.parse().ok()?;
    let major: u64 = fields.nth(1)?.parse().ok()?;
    Some(minor + major)
}

/// Whether a process has this file mapped. A process whose maps are hidden counts as gone.
pub(crate) fn maps_file(process: Pid, file: &Path) -> bool {
    let Some(file) = file.to_str() else { return false };
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    maps.lines().any(|line| line.ends_with(file))
}

/// The arena that a process has mapped.
pub(crate) fn mapped_arena(process: Pid) -> Option<PathBuf> {
    mapped_file(process, |path| path.to_str().is_some_and(|path| path.ends_with(ARENA_SUFFIX)))
}

/// The first file that a process has mapped and whose path is wanted.
pub(crate) fn mapped_file(process: Pid, is_wanted: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    // The path is the sixth column and may hold blanks.
    let path = |line: &str| line.find('/').map(|at| PathBuf::from(&line[at..]));
    maps.lines().filter_map(path).find(|path| is_wanted(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_resident() {
        let resident = resident(Pid::new(std::process::id())).unwrap();
        assert!(resident.now > Bytes::ZERO && resident.peak >= resident.now);
        assert!(resident.threads > 0);
        assert_eq!(resident.by, Pid::new(std::process::id()));
    }

    #[test]
    fn a_thread_other_than_the_first_leads_to_the_same_memory() {
        let own = Pid::new(std::process::id());
        let by_another =
            move || threads(own).into_iter().filter(|&thread| thread != own).find_map(resident_by);
        let found = std::thread::spawn(by_another).join().unwrap().unwrap();
        assert!(found.now > Bytes::ZERO && found.by != own);
    }

    #[test]
    fn a_zombie_has_no_memory() {
        assert_eq!(resident_of_statm("0 0 0 0 0 0 0\n"), None);
    }

    #[test]
    fn a_field_is_read_from_its_line() {
        let status = "Name:\tx\nVmPeak:\t  900 kB\nVmHWM:\t  12 kB\nVmRSS:\t  8 kB\nThreads:\t7\n";
        assert_eq!(field_of_status(status, "VmHWM:"), Some(12));
        assert_eq!(field_of_status(status, "Threads:"), Some(7));
        assert_eq!(field_of_status("Threads:\t-\n", "Threads:"), None);
    }

    #[test]
    fn filters_that_everybody_has_are_not_the_programs_own() {
        let with = |mode: u32, filters: u32| format!("Seccomp:\t{mode}\nSeccomp_filters:\t{filters}\n");
        assert!(!is_restricted(&with(0, 0), &with(0, 0)) && !is_restricted(&with(2, 1), &with(2, 1)));
        assert!(is_restricted(&with(2, 1), &with(0, 0)) && is_restricted(&with(2, 2), &with(2, 1)));
        assert!(is_restricted("Seccomp:\t2\n", "Seccomp:\t2\n"), "they are not counted");
    }

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b (c)) Z 1 7 7 0 -1 4228364 100 25 3 4 0 0";
        assert_eq!(child_faults_of_stat(stat), Some(29));
    }

    #[test]
    fn this_process_maps_its_own_executable() {
        let (own, me) = (std::env::current_exe().unwrap(), Pid::new(std::process::id()));
        assert!(maps_file(me, &own));
        assert!(!maps_file(me, Path::new("/nowhere/1.0.arena")));
    }
}
