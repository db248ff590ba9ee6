//! Whether there is memory for a copy of a process: as long as the copy lives, each page that the program writes to exists
//! twice. Where there might not be enough, no copy is forked: the program must not run out of memory because of us.

use std::path::{Path, PathBuf};

use heaplens_format::{Bytes, Pid};

/// What is free for a process, by the machine and by its control groups.
pub(super) fn free_for(process: Pid) -> Option<Bytes> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    let groups = std::fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
    let limits =
        groups_of(&groups).flat_map(|group| group.path.ancestors().map(Path::to_owned).collect::<Vec<_>>());
    let free_in = |folder: PathBuf| free_in_group(&folder);
    machine.into_iter().chain(limits.filter_map(free_in)).min()
}

/// `MemAvailable:   12345 kB`.
fn available(meminfo: &str) -> Option<Bytes> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Bytes::new(kib * 1024))
}

struct Group {
    path: PathBuf,
}

/// `0::/path` of version 2, `5:memory:/path` of version 1. Both are expected at their usual mount points.
fn groups_of(text: &str) -> impl Iterator<Item = Group> + '_ {
    text.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            _ if controllers.split(',').any(|name| name == "memory") => "/sys/fs/cgroup/memory",
            _ => return None,
        };
        Some(Group { path: Path::new(root).join(path.trim_start_matches('/')) })
    })
}

/// The limit less what is used; inactive page cache is reclaimed first.
fn free_in_group(folder: &Path) -> Option<Bytes> {
    let number =
        |name: &str| -> Option<u64> { std::fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok() };
    let limit = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
    let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    let stat = std::fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let cached = stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse().ok());
    Some(Bytes::new(limit.saturating_sub(used.saturating_sub(cached.unwrap_or(0)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_is_in_a_line_of_its_own() {
        let text = "MemTotal:  100 kB\nMemFree:   20 kB\nMemAvailable:    50 kB\n";
        assert_eq!(available(text), Some(Bytes::new(50 << 10)));
        assert_eq!(available("MemFree: 20 kB\n"), None);
    }

    #[test]
    fn groups_of_both_versions_are_found() {
        let text = "5:cpu,memory:/a/b\n3:cpuset:/x\n0::/user.slice\n";
        let paths: Vec<PathBuf> = groups_of(text).map(|group| group.path).collect();
        assert_eq!(paths, ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/user.slice"].map(PathBuf::from));
    }

    #[test]
    fn cached_files_of_a_group_count_as_free() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(free_in_group(folder.path()), None);
        write("memory.max", "max\n");
        write("memory.current", "700\n");
        assert_eq!(free_in_group(folder.path()), None, "there is no limit");
        write("memory.max", "1000\n");
        write("memory.stat", "anon 500\ninactive_file 100\n");
        assert_eq!(free_in_group(folder.path()), Some(Bytes::new(400)));
    }

    #[test]
    fn this_machine_has_something_free() {
        assert!(free_for(Pid::new(std::process::id())).is_some_and(|free| free > Bytes::ZERO));
    }
}
