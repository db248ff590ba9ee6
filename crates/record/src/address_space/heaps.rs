//! glibc's heaps beside the first one: 64 MiB each, aligned to that, of which the first part is in use. The first one is the
//! kernel's `[heap]`, and large blocks have mappings of their own.
//!
//! ```text
//!   heap_info at the aligned address │ its arena u64 │ the heap before it u64 │ bytes in use u64 │ bytes that are accessible u64 │
//! ```

use heaplens_format::{Addr, Bytes, Pid};
use heaplens_snapshot::Span;

use super::areas::Area;
use super::pages::PAGE;
use crate::arena::word;
use crate::os::memory;

/// `HEAP_MAX_SIZE`: twice the largest threshold from which blocks get mappings of their own.
const HEAP: u64 = 64 << 20;

/// The heaps that begin in these areas.
pub(crate) fn find(process: Pid, areas: &[Area]) -> Vec<Span> {
    let writable = areas.iter().filter(|area| area.is_anonymous() && area.is_writable && area.rss.get() > 0);
    let aligned = writable.flat_map(|area| {
        let first = area.span.start.get().next_multiple_of(HEAP);
        (first..area.span.end.get()).step_by(HEAP as usize).map(Addr::new)
    });
    aligned.filter_map(|start| Some(Span::new(start, start + length(process, start)?))).collect()
}

/// Large blocks with mappings of their own, among pages that nobody claims: their first words are a block's header, whose
/// size is that of the mapping. Needed where blocks are sampled; else they are in the block table.
///
/// ```text
///   │ 0, or what alignment took u64 │ size u64, a multiple of pages, with bit 1 set: it is a mapping │ block …
/// ```
pub(crate) fn mapped_blocks(process: Pid, pages: &[Span]) -> Vec<Span> {
    const HEADER: usize = 16;
    let addresses: Vec<Addr> = pages.iter().map(|page| page.start).collect();
    let mut headers = vec![0; addresses.len() * HEADER];
    memory::read_scattered(process, &addresses, HEADER, &mut headers);
    let mut found = Vec::new();
    let mut after = Addr::default();
    for (page, header) in pages.iter().zip(headers.as_chunks::<HEADER>().0) {
        let size = word(header, 8);
        let is_mapped = size & 7 == 2 && (size & !7).is_multiple_of(PAGE) && size <= page.length().get();
        if page.start >= after && is_mapped {
            after = page.start + Bytes::new(size & !7);
            found.push(Span::new(page.start, after));
        }
    }
    found
}

/// Blocks of one of glibc's heaps that are in use, or freed and cached by a thread, which looks the same. `None` where the chunks of the heap
/// do not end where it ends: then another allocator has it, or somebody else took a part.
///
/// ```text
///   chunk   │ – u64 │ size u64, a multiple of 16 │ block …   bits of the size: 0 the chunk before is in use, 1 it is a mapping of its own
/// ```
pub(crate) fn blocks(process: Pid, heap: Span) -> Option<Vec<Span>> {
    let mut window = Window { process, start: Addr::default(), bytes: Vec::new() };
    let starts = (heap.start.get()..heap.end.get()).step_by(CHUNK_STEP as usize).take(FIRST_CHUNKS);
    starts.map(Addr::new).find_map(|first| chunks(Span::new(first, heap.end), |at| window.word(at)))
}

/// Chunks begin after the state of the allocator, where that is in the heap itself: at one of so many addresses.
const FIRST_CHUNKS: usize = 256;
const CHUNK_STEP: u64 = 16;
const SMALLEST_CHUNK: u64 = 32;

/// The blocks of chunks that fill a span. The last chunk is what was never in use.
fn chunks(span: Span, mut word: impl FnMut(Addr) -> Option<u64>) -> Option<Vec<Span>> {
    let (mut blocks, mut before) = (Vec::new(), None);
    let mut at = span.start;
    while at < span.end {
        let size = word(at + Bytes::new(8))?;
        let length = Bytes::new(size & !7);
        let fits = length.get() >= SMALLEST_CHUNK
            && length.get().is_multiple_of(CHUNK_STEP)
            && size & 2 == 0
            && length <= span.end - at;
        if !fits {
            return None;
        }
        // The block ends with the first word of the next chunk.
        let block = Span::of_length(at + Bytes::new(16), length.saturating_sub(Bytes::new(8)));
        blocks.extend(before.replace(block).filter(|_| size & 1 != 0));
        at = at + length;
    }
    before.map(|_| blocks)
}

/// Words of memory, a piece of which is read at a time.
struct Window {
    process: Pid,
    start: Addr,
    bytes: Vec<u8>,
}

impl Window {
    const LENGTH: usize = 1 << 16;

    fn word(&mut self, at: Addr) -> Option<u64> {
        let is_inside =
            |window: &Self| at >= window.start && (at - window.start).get() + 8 <= window.bytes.len() as u64;
        if !is_inside(self) {
            self.bytes.resize(Self::LENGTH, 0);
            let read = memory::read(self.process, at, &mut self.bytes);
            self.bytes.truncate(read);
            self.start = at;
        }
        is_inside(self).then(|| word(&self.bytes, (at - self.start).get() as usize))
    }
}

/// How much of a heap is accessible, when there is one.
fn length(process: Pid, start: Addr) -> Option<Bytes> {
    let mut bytes = [0u8; 32];
    if memory::read(process, start, &mut bytes) != bytes.len() {
        return None;
    }
    let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    is_heap(start, [words[0], words[1], words[2], words[3]]).then_some(Bytes::new(words[3]))
}

/// The arena of a heap lies in the first heap of that arena, after its `heap_info`.
fn is_heap(start: Addr, [arena, before, used, accessible]: [u64; 4]) -> bool {
    let fits = |size: u64| size > 0 && size <= HEAP && size.is_multiple_of(PAGE);
    let in_front = arena & (HEAP - 1);
    let is_first = before == 0 && arena & !(HEAP - 1) == start.get();
    let is_later = before != 0 && before.is_multiple_of(HEAP) && before != start.get();
    fits(used)
        && fits(accessible)
        && used <= accessible
        && (32..=256).contains(&in_front)
        && (is_first || is_later)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chunks of these sizes, each with the bit of the one before it, and what their blocks are.
    fn walked(sizes: &[u64]) -> Option<Vec<(u64, u64)>> {
        let start = 0x1000;
        let mut words = std::collections::BTreeMap::new();
        let mut at = start;
        for &size in sizes {
            words.insert(at + 8, size);
            at += size & !7;
        }
        let found = chunks(Span::new(Addr::new(start), Addr::new(at)), |at| words.get(&at.get()).copied());
        Some(found?.into_iter().map(|block| (block.start.get(), block.length().get())).collect())
    }

    #[test]
    fn blocks_in_use_are_known_by_the_chunks_after_them() {
        // In use, free, in use, never used.
        assert_eq!(walked(&[0x291, 0x31, 0x20, 0x1001]), Some(vec![(0x1010, 0x288), (0x12d0, 0x18)]));
        assert_eq!(walked(&[0x21]), Some(vec![]), "nothing was ever in use");
        assert_eq!(walked(&[0x21, 0x18, 0x21]), None, "no size of a chunk");
        assert_eq!(walked(&[0x21, 0x1003, 0x21]), None, "a mapping is in no heap");
    }

    #[test]
    fn a_heap_is_recognised_by_its_first_words() {
        let start = 0x7f00_0000_0000;
        assert!(is_heap(Addr::new(start), [start + 48, 0, 0x21000, 0x21000]));
        assert!(is_heap(Addr::new(start + HEAP), [start + 48, start, 0x1000, 0x4000]));
        assert!(!is_heap(Addr::new(start), [0, 0, 0, 0]));
        assert!(!is_heap(Addr::new(start), [start + 48, 0, 0x21001, 0x21000]));
        assert!(!is_heap(Addr::new(start), [start + HEAP + 48, 0, 0x21000, 0x21000]));
    }
}
