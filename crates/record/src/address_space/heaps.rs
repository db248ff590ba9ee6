//! glibc's heaps beside the first one: 64 MiB each, aligned to that, of which the first part is in use. The first one is the
//! kernel's `[heap]`, and large blocks have mappings of their own.
//!
//! ```text
//!   heap_info at the aligned address │ its arena u64 │ the heap before it u64 │ bytes in use u64 │ bytes that are accessible u64 │
//! ```

use heaplens_format::{Addr, Pid};

use super::areas::Area;
use super::pages::PAGE;
use crate::arena::word;
use crate::os::memory;

/// `HEAP_MAX_SIZE`: twice the largest threshold from which blocks get mappings of their own.
const HEAP: u64 = 64 << 20;

/// The heaps that begin in these areas.
pub(crate) fn find(process: Pid, areas: &[Area]) -> Vec<(u64, u64)> {
    let writable = areas.iter().filter(|area| area.is_anonymous() && area.is_writable && area.rss.get() > 0);
    let aligned = writable.flat_map(|area| {
        let first = area.start.next_multiple_of(HEAP);
        (first..area.end).step_by(HEAP as usize)
    });
    aligned.filter_map(|start| Some((start, start + length(process, start)?))).collect()
}

/// Large blocks with mappings of their own, among pages that nobody claims: their first words are a block's header, whose
/// size is that of the mapping. Needed where blocks are sampled; else the block table tells of them.
///
/// ```text
///   │ 0, or what alignment took u64 │ size u64, a multiple of pages, with bit 1 set: it is a mapping │ block …
/// ```
pub(crate) fn mapped_blocks(process: Pid, pages: &[(u64, u64)]) -> Vec<(u64, u64)> {
    const HEADER: usize = 16;
    let addresses: Vec<u64> = pages.iter().map(|&(page, _)| page).collect();
    let mut headers = vec![0; addresses.len() * HEADER];
    memory::read_scattered(process, &addresses, HEADER, &mut headers);
    let mut found = Vec::new();
    let mut behind = 0;
    for (&(page, end), header) in pages.iter().zip(headers.as_chunks::<HEADER>().0) {
        let size = word(header, 8);
        if page >= behind && size & 7 == 2 && (size & !7).is_multiple_of(PAGE) && size <= end - page {
            behind = page + (size & !7);
            found.push((page, behind));
        }
    }
    found
}

/// How much of a heap is accessible, when there is one.
fn length(process: Pid, start: u64) -> Option<u64> {
    let mut bytes = [0u8; 32];
    if memory::read(process, Addr::new(start), &mut bytes) != bytes.len() {
        return None;
    }
    let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    is_heap(start, [words[0], words[1], words[2], words[3]]).then_some(words[3])
}

/// The arena of a heap lies in the first heap of that arena, behind its `heap_info`.
fn is_heap(start: u64, [arena, before, used, accessible]: [u64; 4]) -> bool {
    let fits = |size: u64| size > 0 && size <= HEAP && size.is_multiple_of(PAGE);
    let in_front = arena & (HEAP - 1);
    let is_first = before == 0 && arena & !(HEAP - 1) == start;
    let is_later = before != 0 && before.is_multiple_of(HEAP) && before != start;
    fits(used)
        && fits(accessible)
        && used <= accessible
        && (32..=256).contains(&in_front)
        && (is_first || is_later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heap_is_told_by_its_first_words() {
        let start = 0x7f00_0000_0000;
        assert!(is_heap(start, [start + 48, 0, 0x21000, 0x21000]));
        assert!(is_heap(start + HEAP, [start + 48, start, 0x1000, 0x4000]));
        assert!(!is_heap(start, [0, 0, 0, 0]));
        assert!(!is_heap(start, [start + 48, 0, 0x21001, 0x21000]));
        assert!(!is_heap(start, [start + HEAP + 48, 0, 0x21000, 0x21000]));
    }
}
