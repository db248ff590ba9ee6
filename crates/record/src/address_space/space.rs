//! Anonymous memory page by page: which pages are resident, who claims them, and how much of each is live blocks.
//!
//! ```text
//!   page word   │ 31 resident │ 30 holds live blocks │ 29 inherited by fork │ 28 … 0 claim │
//! ```

use std::io;

use heaplens_format::memory::{Allocator, Layer};
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::Span;

use super::areas::Area;
use super::claim::Claim;
use super::pages::{PAGE, Pagemap, Wanted, page_at};
use super::parts::Parts;

/// A longer area is not divided by pages: its page map alone would be 64 MiB.
const LONGEST: Bytes = Bytes::new(32 << 30);

const RESIDENT: u32 = 1 << 31;
const LIVE: u32 = 1 << 30;
const INHERITED: u32 = 1 << 29;
const CLAIM: u32 = INHERITED - 1;

/// The pages of one area.
struct Pages {
    /// Its index in the list of areas.
    area: usize,
    span: Span,
    words: Vec<u32>,
    /// Bytes of live blocks on resident pages, by whose they are.
    live: [Bytes; Layer::COUNT],
    /// Of these, on pages that were inherited.
    live_inherited: Bytes,
    /// Bytes in use on resident pages of pools: of these blocks, and what was read from a pool itself.
    live_in_pools: [Bytes; Allocator::COUNT],
}

impl Pages {
    fn new(area: usize, span: Span, words: Vec<u32>) -> Self {
        let (live, live_in_pools) = ([Bytes::ZERO; Layer::COUNT], [Bytes::ZERO; Allocator::COUNT]);
        Self { area, span, words, live, live_inherited: Bytes::ZERO, live_in_pools }
    }

    /// The numbers of the pages that a span meets.
    fn range(&self, span: Span) -> std::ops::Range<usize> {
        let inside = |address: Addr| address.clamp(self.span.start, self.span.end);
        let end = Addr::new(inside(span.end).get().next_multiple_of(PAGE)).min(self.span.end);
        let first = self.number(inside(span.start));
        first..self.number(end).max(first)
    }

    /// The number of the page that an address lies in, which is one of the area's.
    fn number(&self, address: Addr) -> usize {
        ((address - self.span.start).get() / PAGE) as usize
    }
}

/// The anonymous pages of a process.
#[derive(Default)]
pub(crate) struct Space {
    all: Vec<Pages>,
    /// The area that was found last.
    last: usize,
    /// Python's arenas of small objects.
    arenas: Vec<Span>,
}

impl Space {
    /// Reads which pages of the anonymous areas are resident.
    pub(crate) fn read(areas: &[Area], pagemap: &mut Pagemap) -> io::Result<Self> {
        Self::of_pages(areas, pagemap, Wanted::Resident)
    }

    /// The same, with those that were swapped out: they count as resident, since pointers in them count as before.
    pub(crate) fn read_touched(areas: &[Area], pagemap: &mut Pagemap) -> io::Result<Self> {
        Self::of_pages(areas, pagemap, Wanted::Touched)
    }

    fn of_pages(areas: &[Area], pagemap: &mut Pagemap, wanted: Wanted) -> io::Result<Self> {
        let mut all = Vec::new();
        let is_there = |area: &Area| match wanted {
            Wanted::Resident => area.rss.get() > 0,
            Wanted::Touched => area.rss.get() > 0 || area.swap.get() > 0,
        };
        let is_wanted = |area: &Area| area.is_anonymous() && is_there(area) && area.length() <= LONGEST;
        for (index, area) in areas.iter().enumerate().filter(|(_, area)| is_wanted(area)) {
            let mut words = vec![0; (area.length().get() / PAGE) as usize];
            pagemap.each(area.span, wanted, |page, is_there| {
                words[page] = if is_there { RESIDENT } else { 0 };
            })?;
            all.push(Pages::new(index, area.span, words));
        }
        Ok(Self { all, ..Self::default() })
    }

    /// The areas that meet a span, by their indices in `all`.
    fn meeting(&mut self, span: Span) -> std::ops::Range<usize> {
        let has_all = |pages: &Pages| pages.span.start <= span.start && span.end <= pages.span.end;
        let is_last = self.all.get(self.last).is_some_and(has_all);
        if is_last {
            return self.last..self.last + 1;
        }
        let first = self.all.partition_point(|pages| pages.span.end <= span.start);
        self.last = first;
        let count = self.all[first..].iter().take_while(|pages| pages.span.start < span.end).count();
        first..first + count
    }

    /// Runs of resident pages.
    pub(crate) fn resident(&self) -> Vec<Span> {
        self.runs(|word| word & RESIDENT != 0)
    }

    fn runs(&self, is_meant: impl Fn(u32) -> bool) -> Vec<Span> {
        let mut runs = Vec::<Span>::new();
        for pages in &self.all {
            let there = pages.words.iter().enumerate().filter(|(_, word)| is_meant(**word));
            for page in there.map(|(number, _)| page_at(pages.span.start, number)) {
                match runs.last_mut() {
                    Some(last) if last.end == page.start => last.end = page.end,
                    _ => runs.push(page),
                }
            }
        }
        runs
    }

    /// These pages were there when the process began. To be called before blocks are added.
    pub(crate) fn inherit(&mut self, runs: &[Span]) {
        for &span in runs {
            for at in self.meeting(span) {
                let range = self.all[at].range(span);
                self.all[at].words[range].iter_mut().for_each(|word| *word |= INHERITED);
            }
        }
    }

    /// Runs of inherited pages, by who claims them and whether live blocks are on them.
    pub(crate) fn inherited(&self, is_wanted: impl Fn(Claim, bool) -> bool) -> Vec<Span> {
        let is_meant = |word: u32| {
            word & (RESIDENT | INHERITED) == RESIDENT | INHERITED
                && is_wanted(Claim::from_raw(word & CLAIM), word & LIVE != 0)
        };
        self.runs(is_meant)
    }

    /// Runs of resident pages that nobody claims and no live block is on.
    pub(crate) fn unknown(&self) -> Vec<Span> {
        self.runs(|word| word & !INHERITED == RESIDENT)
    }

    /// Whether a span lies in one area, and nobody claims a page of it and no live block is there; whether its pages are resident or not.
    pub(crate) fn is_unclaimed(&self, span: Span) -> bool {
        let is_free = |pages: &Pages| {
            span.end <= pages.span.end
                && pages.words[pages.range(span)].iter().all(|word| word & !(INHERITED | RESIDENT) == 0)
        };
        self.area_of(span.start).is_some_and(is_free)
    }

    /// Whether a page was there when the process began.
    pub(crate) fn is_inherited(&self, address: Addr) -> bool {
        self.area_of(address).is_some_and(|pages| pages.words[pages.number(address)] & INHERITED != 0)
    }

    /// Claims pages; an earlier claim is overridden.
    pub(crate) fn claim(&mut self, span: Span, claim: Claim) {
        for at in self.meeting(span) {
            let range = self.all[at].range(span);
            for word in &mut self.all[at].words[range] {
                *word = *word & !CLAIM | claim.raw() & CLAIM;
            }
        }
    }

    /// A live block: the pages that it lies on are the heap's.
    pub(crate) fn add_block(&mut self, start: Addr, size: Bytes, owner: Layer) {
        let block = Span::of_length(start, size);
        let touched = Span::of_length(start, size.max(Bytes::new(1)));
        for at in self.meeting(touched) {
            let pages = &mut self.all[at];
            for number in pages.range(touched) {
                let word = &mut pages.words[number];
                *word |= LIVE;
                if *word & RESIDENT != 0 {
                    let bytes = common(block, page_at(pages.span.start, number));
                    pages.live[owner as usize] += bytes;
                    pages.live_inherited += if *word & INHERITED != 0 { bytes } else { Bytes::ZERO };
                    if let Claim::Pool(pool) = Claim::from_raw(*word & CLAIM)
                        && pool.hands_out_blocks()
                    {
                        pages.live_in_pools[pool as usize] += bytes;
                    }
                }
            }
        }
    }

    /// Bytes in use of a pool's region at `start`, as they were read from the pool itself.
    pub(crate) fn add_parts(&mut self, pool: Allocator, start: Addr, live: Bytes) {
        for at in self.meeting(Span::of_length(start, Bytes::new(1))) {
            self.all[at].live_in_pools[pool as usize] += live;
        }
    }

    /// Resident pages that nobody claims, each up to the end of its area.
    pub(crate) fn unclaimed(&self) -> Vec<Span> {
        let of_area = |pages: &Pages| {
            let is_free = |word: u32| word & !INHERITED == RESIDENT;
            let free = pages.words.iter().enumerate().filter(|(_, word)| is_free(**word));
            let to_end = |number| Span::new(page_at(pages.span.start, number).start, pages.span.end);
            free.map(|(number, _)| to_end(number)).collect::<Vec<_>>()
        };
        self.all.iter().flat_map(of_area).collect()
    }

    /// Resident pages that hold neither live blocks nor free memory of an allocator, as spans with who has them: whatever is
    /// there, the program reaches by itself. Stacks are left out, since only a part of them is in use, and Python's arenas,
    /// which [`Self::arenas`] returns.
    pub(crate) fn reachable(&self) -> Vec<(Span, Claim)> {
        let mut spans: Vec<(Span, Claim)> = Vec::new();
        for pages in &self.all {
            for (number, &word) in pages.words.iter().enumerate() {
                let claim = Claim::from_raw(word & CLAIM);
                if word & (RESIDENT | LIVE) != RESIDENT || !claim.is_reached() {
                    continue;
                }
                let page = page_at(pages.span.start, number);
                match spans.last_mut() {
                    Some((span, last)) if span.end == page.start && *last == claim => span.end = page.end,
                    _ => spans.push((page, claim)),
                }
            }
        }
        spans
    }

    /// An arena of Python's small objects.
    pub(crate) fn add_arena(&mut self, span: Span) {
        self.arenas.push(span);
    }

    /// Python's arenas of small objects.
    pub(crate) fn arenas(&self) -> &[Span] {
        &self.arenas
    }

    /// Where the stack ends that an address lies in; `None` where none is known.
    pub(crate) fn end_of_stack(&self, address: Addr) -> Option<Addr> {
        let pages = self.area_of(address)?;
        let first = pages.number(address);
        let is_stack = |word: &&u32| Claim::from_raw(**word & CLAIM) == Claim::Stack;
        let length = pages.words[first..].iter().take_while(is_stack).count();
        (length > 0).then(|| page_at(pages.span.start, first + length).start)
    }

    /// Whether a page is resident.
    pub(crate) fn is_resident(&self, address: Addr) -> bool {
        self.area_of(address).is_some_and(|pages| pages.words[pages.number(address)] & RESIDENT != 0)
    }

    fn area_of(&self, address: Addr) -> Option<&Pages> {
        let at = self.all.partition_point(|pages| pages.span.end <= address);
        self.all.get(at).filter(|pages| pages.span.start <= address)
    }

    /// What the pages of each area are, with the area's index in the list. A page with live blocks is the heap's, whoever
    /// claims it: only our own memory and pools keep their pages.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (usize, Parts)> {
        self.all.iter().map(|pages| (pages.area, parts_of(pages)))
    }
}

/// How many bytes two spans have in common.
fn common(one: Span, other: Span) -> Bytes {
    Span::new(one.start.max(other.start), one.end.min(other.end)).length()
}

fn parts_of(pages: &Pages) -> Parts {
    let mut parts = Parts { live: pages.live, ..Parts::default() };
    let page = Bytes::new(PAGE);
    let mut run = (0, Bytes::ZERO);
    for word in pages.words.iter().filter(|&&word| word & RESIDENT != 0) {
        let claim = match Claim::from_raw(word & CLAIM) {
            claim @ (Claim::Heaplens | Claim::Pool(_)) => claim,
            _ if word & LIVE != 0 => Claim::Heap,
            claim => claim,
        };
        match claim {
            Claim::Nobody if word & INHERITED != 0 => {
                parts.inherited += page;
                continue;
            }
            Claim::Heap if word & INHERITED != 0 => parts.inherited_heap += page,
            _ => {}
        }
        if claim.raw() != run.0 {
            parts.add(Claim::from_raw(run.0), run.1);
            run = (claim.raw(), Bytes::ZERO);
        }
        run.1 += page;
    }
    parts.add(Claim::from_raw(run.0), run.1);
    for (&pool, part) in &mut parts.pools {
        part.live = pages.live_in_pools[pool as usize].min(part.pages);
    }
    parts.inherited_heap = parts.inherited_heap.saturating_sub(pages.live_inherited);
    parts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    const START: Addr = Addr::new(0x10000);

    fn bytes(count: u64) -> Bytes {
        Bytes::new(count)
    }

    /// So many pages from this one on.
    fn pages(first: u64, count: u64) -> Span {
        Span::of_length(START + bytes(first * PAGE), bytes(count * PAGE))
    }

    fn space(resident: &[bool]) -> Space {
        let words = resident.iter().map(|&there| if there { RESIDENT } else { 0 }).collect();
        let span = pages(0, resident.len() as u64);
        Space { all: vec![Pages::new(0, span, words)], ..Space::default() }
    }

    fn live_of(layer: Layer, count: u64) -> [Bytes; Layer::COUNT] {
        let mut live = [Bytes::ZERO; Layer::COUNT];
        live[layer as usize] = bytes(count);
        live
    }

    #[test]
    fn pages_that_nobody_claims_need_not_be_resident_but_lie_in_one_area() {
        let mut space = space(&[true, false, false, true, true, true]);
        assert!(space.is_unclaimed(pages(0, 4)) && !space.is_unclaimed(pages(4, 4)));
        space.claim(pages(3, 1), Claim::Heap);
        assert!(space.is_unclaimed(pages(0, 3)) && !space.is_unclaimed(pages(0, 4)));
        space.add_block(START, bytes(16), Layer::Native);
        assert!(!space.is_unclaimed(pages(0, 3)), "a live block is there");
    }

    fn parts(space: &Space) -> Parts {
        space.parts().next().unwrap().1
    }

    #[test]
    fn a_block_that_was_never_touched_is_not_resident() {
        let mut space = space(&[true, false, false, false]);
        space.claim(pages(0, 4), Claim::Heap);
        space.add_block(START + bytes(16), bytes(3 * PAGE), Layer::Native);
        let parts = parts(&space);
        assert_eq!((parts.heap, parts.live), (bytes(PAGE), live_of(Layer::Native, PAGE - 16)));
    }

    #[test]
    fn a_page_with_live_blocks_is_the_heaps_whoever_mapped_it() {
        let mut space = space(&[true, true]);
        space.claim(pages(0, 2), Claim::Mapped(7));
        space.add_block(START, bytes(100), Layer::Numpy);
        let parts = parts(&space);
        assert_eq!((parts.heap, parts.live), (bytes(PAGE), live_of(Layer::Numpy, 100)));
        assert_eq!(parts.others, BTreeMap::from([(Claim::Mapped(7), bytes(PAGE))]));
    }

    /// Pages 0, 1 and 3 were there at the start; 0 has a block of the process's own, 1 is the heap's, 3 and 4 are nobody's.
    #[test]
    fn inherited_pages_are_distinct_from_later_ones() {
        let mut space = space(&[true, true, true, true, true]);
        let began = self::space(&[true, true, false, true, false]).resident();
        assert_eq!(began, [pages(0, 2), pages(3, 1)]);
        space.inherit(&began);
        space.claim(pages(0, 3), Claim::Heap);
        space.add_block(START, bytes(96), Layer::Native);
        let parts = parts(&space);
        assert_eq!((parts.heap, parts.live[0]), (bytes(3 * PAGE), bytes(96)));
        assert_eq!((parts.inherited_heap, parts.inherited), (bytes(2 * PAGE - 96), bytes(PAGE)));
        assert_eq!(parts.others, BTreeMap::from([(Claim::Nobody, bytes(PAGE))]));
        assert_eq!(parts.total(), bytes(5 * PAGE));
    }

    proptest! {
        /// The naive model counts byte by byte.
        #[test]
        fn parts_add_up_and_equal_a_count_by_bytes(
            resident in prop::collection::vec(any::<bool>(), 1..12),
            claims in prop::collection::vec((0u64..12, 1u64..6, 0..Claim::Mapped(4).raw()), 0..6),
            blocks in prop::collection::vec((0u64..500, 1u64..40), 0..12),
        ) {
            let mut space = space(&resident);
            let mut claimed = vec![Claim::Nobody; resident.len()];
            for (page, count, claim) in claims {
                let claim = Claim::from_raw(claim);
                space.claim(pages(page, count), claim);
                (page..page + count).for_each(|page| {
                    if let Some(claimed) = claimed.get_mut(page as usize) { *claimed = claim }
                });
            }
            let mut at = START.get();
            let mut live = 0;
            let mut touched = vec![false; resident.len()];
            for (gap, size) in blocks.into_iter().map(|(gap, size)| (gap * 16, size * 100)) {
                at += gap;
                space.add_block(Addr::new(at), bytes(size), Layer::Native);
                for byte in at..at + size {
                    let page = ((byte - START.get()) / PAGE) as usize;
                    if page < resident.len() {
                        touched[page] = true;
                        live += u64::from(resident[page]);
                    }
                }
                at += size;
            }
            let parts = parts(&space);
            prop_assert_eq!(parts.live[0], bytes(live));
            let count = resident.iter().filter(|&&there| there).count() as u64;
            prop_assert_eq!(parts.total(), bytes(count * PAGE));
            let heap = (0..resident.len()).filter(|&page| {
                let ours = matches!(claimed[page], Claim::Heaplens | Claim::Pool(_));
                resident[page] && !ours && (touched[page] || claimed[page] == Claim::Heap)
            });
            prop_assert_eq!(parts.heap, bytes(heap.count() as u64 * PAGE));
        }
    }
}
