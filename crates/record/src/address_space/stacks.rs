//! Stacks of threads that the C library mapped, which no hook sees: memory right after an inaccessible guard page.
//! The kernel may list other memory after it as the same area, so what is claimed is no longer than a stack can be.

use heaplens_format::{Addr, Bytes, Pid};
use heaplens_snapshot::Span;

use super::areas::Area;
use crate::os::memory;

/// glibc's default where the limit says nothing, and the usual limit.
const USUAL: Bytes = Bytes::new(8 << 20);
/// The descriptor of a thread lies at the end of its stack, and is no longer than this.
const DESCRIPTOR: usize = 4096;
/// Guards are a page; programs may ask for more.
const LARGEST_GUARD: Bytes = Bytes::new(1 << 20);

/// Spans that may be stacks, unless somebody has a better claim.
pub(crate) fn find(process: Pid, areas: &[Area]) -> Vec<Span> {
    let longest = limit(process).unwrap_or(USUAL).max(USUAL);
    let is_guard = |area: &Area| area.is_anonymous() && !area.is_accessible && area.length() <= LARGEST_GUARD;
    areas
        .windows(2)
        .filter(|pair| is_guard(&pair[0]) && pair[0].span.end == pair[1].span.start)
        .filter(|pair| pair[1].is_anonymous() && pair[1].is_writable && pair[1].name.is_empty())
        .map(|pair| Span::of_length(pair[1].span.start, pair[1].length().min(longest)))
        .collect()
}

/// Where threads keep the address of their table of modules, as spans of one word: the C library has it, and hands it on to the
/// next thread, as long as it has the stack, also when no thread runs on it.
///
/// ```text
///   … stack │ thread-local data │ descriptor: itself │ table │ itself │ …      end of the stack
/// ```
pub(crate) fn tables(process: Pid, stacks: &[Span]) -> Vec<Span> {
    stacks.iter().filter_map(|stack| table_before(process, stack.end)).collect()
}

fn table_before(process: Pid, end: Addr) -> Option<Span> {
    let start = Addr::new(end.get().checked_sub(DESCRIPTOR as u64)?);
    let mut bytes = [0; DESCRIPTOR];
    let read = memory::read(process, start, &mut bytes);
    let words: Vec<u64> =
        bytes[..read].as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let address = |at: usize| start + Bytes::new(8 * at as u64);
    let is_own = |word: Option<&u64>, at: usize| word == Some(&address(at).get());
    let is_descriptor = |&at: &usize| is_own(words.get(at), at) && is_own(words.get(at + 2), at);
    let found = (0..words.len()).find(is_descriptor)?;
    Some(Span::new(address(found + 1), address(found + 2)))
}

/// The soft limit of stacks, which is the size of a thread's; `None` when there is none.
fn limit(process: Pid) -> Option<Bytes> {
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max stack size"))?;
    line.split_ascii_whitespace().next()?.parse().ok().map(Bytes::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, end: u64) -> Span {
        Span::new(Addr::new(start), Addr::new(end))
    }

    fn area(start: u64, end: u64, is_accessible: bool) -> Area {
        let is_writable = is_accessible;
        Area { span: span(start, end), is_accessible, is_writable, is_private: true, ..Area::default() }
    }

    #[test]
    fn memory_after_a_guard_is_a_stack_no_longer_than_one_can_be() {
        let guard = area(0x1000, 0x2000, false);
        let stack = area(0x2000, 0x2000 + 0x0080_0000, true);
        let apart = area(0x9000_0000, 0x9000_1000, true);
        let own = Pid::new(std::process::id());
        assert_eq!(find(own, &[guard.clone(), stack, apart]), [span(0x2000, 0x0080_2000)]);
        let long = area(0x2000, 1 << 40, true);
        let found = find(own, &[guard, long]);
        assert!(found[0].end < Addr::new(1 << 40));
    }

    #[test]
    fn a_descriptor_is_recognised_by_its_own_address_in_it() {
        let mut page = vec![0u64; 2 * DESCRIPTOR / 8];
        let start = page.as_ptr() as u64;
        let (own, at, end) = (Pid::new(std::process::id()), 300, start + 8 * page.len() as u64);
        assert_eq!(tables(own, &[span(start, end)]), []);
        let base = page.len() - DESCRIPTOR / 8 + at;
        let address = start + 8 * base as u64;
        (page[base], page[base + 1], page[base + 2]) = (address, 77, address);
        assert_eq!(tables(own, &[span(start, end)]), [span(address + 8, address + 16)]);
        page[base + 2] = 0;
        assert_eq!(tables(own, &[span(start, end)]), []);
    }

    #[test]
    fn this_process_has_a_limit_or_none() {
        assert!(limit(Pid::new(std::process::id())).is_none_or(|bytes| bytes > Bytes::ZERO));
    }
}
