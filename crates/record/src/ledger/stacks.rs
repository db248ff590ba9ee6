//! Stacks of threads that the C library mapped, which no hook sees: memory right behind a guard that nobody may touch. The
//! kernel may list other memory behind it as the same area, so what is claimed is no longer than a stack can be.

use heaplens_format::Pid;

use super::areas::Area;

/// glibc's default where the limit says nothing, and the usual limit.
const USUAL: u64 = 8 << 20;
/// Guards are a page; programs may ask for more.
const LARGEST_GUARD: u64 = 1 << 20;

/// What may be stacks, as far as nobody has a better claim.
pub(super) fn find(process: Pid, areas: &[Area]) -> Vec<(u64, u64)> {
    let longest = limit(process).unwrap_or(USUAL).max(USUAL);
    let is_guard = |area: &Area| area.is_anonymous() && !area.is_accessible && area.length() <= LARGEST_GUARD;
    areas
        .windows(2)
        .filter(|pair| is_guard(&pair[0]) && pair[0].end == pair[1].start)
        .filter(|pair| pair[1].is_anonymous() && pair[1].is_writable && pair[1].name.is_empty())
        .map(|pair| (pair[1].start, pair[1].end.min(pair[1].start.saturating_add(longest))))
        .collect()
}

/// The soft limit of stacks, which is the size of a thread's; `None` when there is none.
fn limit(process: Pid) -> Option<u64> {
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max stack size"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(start: u64, end: u64, is_accessible: bool) -> Area {
        let is_writable = is_accessible;
        Area { start, end, is_accessible, is_writable, is_private: true, ..Area::default() }
    }

    #[test]
    fn memory_behind_a_guard_is_a_stack_no_longer_than_one_can_be() {
        let guard = area(0x1000, 0x2000, false);
        let stack = area(0x2000, 0x2000 + 0x0080_0000, true);
        let apart = area(0x9000_0000, 0x9000_1000, true);
        let own = Pid::new(std::process::id());
        assert_eq!(find(own, &[guard.clone(), stack, apart]), [(0x2000, 0x0080_2000)]);
        let long = area(0x2000, 1 << 40, true);
        let found = find(own, &[guard, long]);
        assert!(found[0].1 < 1 << 40);
    }

    #[test]
    fn this_process_has_a_limit_or_none() {
        assert!(limit(Pid::new(std::process::id())).is_none_or(|bytes| bytes > 0));
    }
}
