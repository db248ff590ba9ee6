//! Memory of a process and all its descendants, as the kernel counts it. Reads `/proc`; what other processes do does not change the
//! value, although they may map the same files.
//!
//! ```text
//!   value = sum over the tree of (Pss_Anon + Pss_Shmem)     pages that a fork shares count once
//!         + the largest RssFile of the tree                 workers map the same libraries
//! ```

use std::collections::BTreeMap;
use std::fs::read_to_string;

/// What the tree below this process has resident now, in bytes.
pub fn of_tree(root: u32) -> u64 {
    let mut spaces: BTreeMap<String, u32> = BTreeMap::new();
    for pid in tree(root, &parents()) {
        let status = read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        spaces.entry(counters(&status)).or_insert(pid);
    }
    let files = spaces.keys().map(|counters| field(counters, "RssFile:")).max();
    spaces.values().map(|&pid| anonymous(pid)).sum::<u64>() + files.unwrap_or(0)
}

/// What the kernel counts of an address space. A child of `vfork` is in that of its parent until it executes: it has the same counters, and
/// its pages would count twice.
fn counters(status: &str) -> String {
    let is_counter = |line: &&str| line.starts_with("Vm") || line.starts_with("Rss");
    status.lines().filter(is_counter).collect::<Vec<_>>().join("\n")
}

/// A process and its descendants.
fn tree(root: u32, parents: &BTreeMap<u32, u32>) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, of)| **of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found
}

/// Every process of the machine and its parent.
fn parents() -> BTreeMap<u32, u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| Some((pid, parent(&read_to_string(format!("/proc/{pid}/stat")).ok()?)?)))
        .collect()
}

/// The second field after the name, which is in brackets and may contain some itself.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn anonymous(pid: u32) -> u64 {
    let rollup = read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    field(&rollup, "Pss_Anon:") + field(&rollup, "Pss_Shmem:")
}

/// A field in kB, in bytes; a process that ended has none.
fn field(text: &str, name: &str) -> u64 {
    let value =
        text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    value.map_or(0, |kib: u64| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_children_of_children_and_nobody_else() {
        let parents = BTreeMap::from([(2, 1), (3, 2), (4, 3), (5, 1), (6, 2)]);
        let mut found = tree(2, &parents);
        found.sort_unstable();
        assert_eq!(found, [2, 3, 4, 6]);
    }

    #[test]
    fn fields_are_read_as_the_kernel_writes_them() {
        assert_eq!(parent("12 (a) b (c)) S 7 12 12 0"), Some(7));
        assert_eq!(field("Rss:      3 kB\nPss_Anon:      2036 kB\n", "Pss_Anon:"), 2036 * 1024);
        assert_eq!(field("", "Pss_Anon:"), 0);
    }

    #[test]
    fn processes_of_one_address_space_have_the_same_counters() {
        let (parent, child) = (
            "Name:\ta\nState:\tD\nVmRSS:\t9 kB\nRssFile:\t4 kB\n",
            "Name:\tb\nVmRSS:\t9 kB\nRssFile:\t4 kB\n",
        );
        assert_eq!(counters(parent), counters(child));
        assert_eq!(field(&counters(parent), "RssFile:"), 4096);
        assert_ne!(counters(parent), counters("VmRSS:\t9 kB\nRssFile:\t3 kB\n"));
    }

    #[test]
    fn memory_of_this_process_is_seen() {
        let before = of_tree(std::process::id());
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = of_tree(std::process::id());
        assert!(after - before > 60 << 20, "{before} {after}");
        drop(block);
    }
}
