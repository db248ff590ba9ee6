//! Anonymous memory page by page: which pages are resident, who claims them, and how much of each is live blocks.
//!
//! ```text
//!   page word   │ 31 resident │ 30 holds live blocks │ 29 inherited by fork │ 28 … 0 claim │
//! ```

use std::collections::BTreeMap;
use std::io;

use heaplens_format::memory::{Allocator, Layer};

use super::areas::Area;
use super::claim::Claim;
use super::pages::{PAGE, Pagemap, Wanted};

/// An area beyond this length is not looked at by pages: its page map alone would be 64 MiB.
const LONGEST: u64 = 32 << 30;

const RESIDENT: u32 = 1 << 31;
const LIVE: u32 = 1 << 30;
const INHERITED: u32 = 1 << 29;
const CLAIM: u32 = INHERITED - 1;

/// The pages of one area.
struct Pages {
    /// Its place in the list of areas.
    area: usize,
    start: u64,
    end: u64,
    words: Vec<u32>,
    /// Bytes of live blocks on resident pages, by whose they are.
    live: [u64; Layer::COUNT],
    /// Of these, on pages that were inherited.
    live_inherited: u64,
    /// Bytes in use on resident pages of pools: of these blocks, and what was read from a pool itself.
    live_in_pools: [u64; Allocator::COUNT],
}

impl Pages {
    fn new(area: usize, (start, end): (u64, u64), words: Vec<u32>) -> Self {
        let (live, live_in_pools) = ([0; Layer::COUNT], [0; Allocator::COUNT]);
        Self { area, start, end, words, live, live_inherited: 0, live_in_pools }
    }

    fn range(&self, start: u64, end: u64) -> std::ops::Range<usize> {
        let page = |address: u64| ((address - self.start) / PAGE) as usize;
        let (start, end) = (start.clamp(self.start, self.end), end.clamp(self.start, self.end));
        page(start)..page(end.next_multiple_of(PAGE).min(self.end)).max(page(start))
    }
}

/// What the resident pages of one area are, in bytes; they add up to its resident pages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Pages of the heap, live blocks included.
    pub(crate) heap: u64,
    /// Live blocks, there and in pools, by whose they are.
    pub(crate) live: [u64; Layer::COUNT],
    /// Pages of pools.
    pub(crate) pools: BTreeMap<Allocator, PoolPart>,
    /// The other pages.
    pub(crate) others: BTreeMap<Claim, u64>,
    /// Pages of nobody that were inherited.
    pub(crate) inherited: u64,
    /// What of the heap was inherited, beside live blocks.
    pub(crate) inherited_heap: u64,
}

/// What pages of a pool are, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolPart {
    /// All of them.
    pub(crate) pages: u64,
    /// What of them is in use.
    pub(crate) live: u64,
}

/// All of it.
#[derive(Default)]
pub(crate) struct Space {
    all: Vec<Pages>,
    /// The area that was found last.
    last: usize,
    /// Python's arenas of small objects.
    arenas: Vec<(u64, u64)>,
}

impl Space {
    /// Reads which pages of the anonymous areas are resident.
    pub(crate) fn read(areas: &[Area], pagemap: &mut Pagemap) -> io::Result<Self> {
        Self::of_pages(areas, pagemap, Wanted::Resident)
    }

    /// The same, with those that were swapped out: they count as resident, for what lies in them leads on as before.
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
            let mut words = vec![0; (area.length() / PAGE) as usize];
            pagemap.each(area.start, area.end, wanted, |page, is_there| {
                words[page] = if is_there { RESIDENT } else { 0 };
            })?;
            all.push(Pages::new(index, (area.start, area.end), words));
        }
        Ok(Self { all, ..Self::default() })
    }

    /// The areas that meet a range, by their places in `all`.
    fn meeting(&mut self, start: u64, end: u64) -> std::ops::Range<usize> {
        let is_last = self.all.get(self.last).is_some_and(|pages| pages.start <= start && end <= pages.end);
        if is_last {
            return self.last..self.last + 1;
        }
        let first = self.all.partition_point(|pages| pages.end <= start);
        self.last = first;
        let count = self.all[first..].iter().take_while(|pages| pages.start < end).count();
        first..first + count
    }

    /// Runs of resident pages.
    pub(crate) fn resident(&self) -> Vec<(u64, u64)> {
        let mut runs = Vec::<(u64, u64)>::new();
        for pages in &self.all {
            let there = pages.words.iter().enumerate().filter(|(_, word)| **word & RESIDENT != 0);
            for start in there.map(|(page, _)| pages.start + page as u64 * PAGE) {
                match runs.last_mut() {
                    Some(last) if last.1 == start => last.1 += PAGE,
                    _ => runs.push((start, start + PAGE)),
                }
            }
        }
        runs
    }

    /// These pages were there when the process began. Said before blocks are added.
    pub(crate) fn inherit(&mut self, runs: &[(u64, u64)]) {
        for &(start, end) in runs {
            for at in self.meeting(start, end) {
                let range = self.all[at].range(start, end);
                self.all[at].words[range].iter_mut().for_each(|word| *word |= INHERITED);
            }
        }
    }

    /// Claims pages; who came before has no say.
    pub(crate) fn claim(&mut self, start: u64, end: u64, claim: Claim) {
        for at in self.meeting(start, end) {
            let range = self.all[at].range(start, end);
            for word in &mut self.all[at].words[range] {
                *word = *word & !CLAIM | claim.raw() & CLAIM;
            }
        }
    }

    /// A live block: the pages that it lies on are the heap's.
    pub(crate) fn add_block(&mut self, start: u64, size: u64, owner: Layer) {
        let end = start.saturating_add(size.max(1));
        for at in self.meeting(start, end) {
            let pages = &mut self.all[at];
            for page in pages.range(start, end) {
                let word = &mut pages.words[page];
                *word |= LIVE;
                if *word & RESIDENT != 0 {
                    let low = pages.start + page as u64 * PAGE;
                    let bytes = end.min(low + PAGE).min(start + size).saturating_sub(start.max(low));
                    pages.live[owner as usize] += bytes;
                    pages.live_inherited += if *word & INHERITED != 0 { bytes } else { 0 };
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
    pub(crate) fn add_parts(&mut self, pool: Allocator, start: u64, live: u64) {
        for at in self.meeting(start, start + 1) {
            self.all[at].live_in_pools[pool as usize] += live;
        }
    }

    /// Resident pages that nobody claims, each with the end of its area.
    pub(crate) fn unclaimed(&self) -> Vec<(u64, u64)> {
        let of_area = |pages: &Pages| {
            let (start, end) = (pages.start, pages.end);
            let is_free = |word: u32| word & !INHERITED == RESIDENT;
            let free = pages.words.iter().enumerate().filter(|(_, word)| is_free(**word));
            free.map(|(page, _)| (start + page as u64 * PAGE, end)).collect::<Vec<_>>()
        };
        self.all.iter().flat_map(of_area).collect()
    }

    /// Resident pages that hold neither live blocks nor free memory of an allocator, as ranges with who has them: whatever is
    /// there, the program reaches by itself. Stacks are left out, since only a part of them is in use, and Python's arenas,
    /// which are told of by [`Self::arenas`].
    pub(crate) fn reachable(&self) -> Vec<(u64, u64, Claim)> {
        let mut ranges: Vec<(u64, u64, Claim)> = Vec::new();
        for pages in &self.all {
            for (page, &word) in (pages.start..).step_by(PAGE as usize).zip(&pages.words) {
                let claim = Claim::from_raw(word & CLAIM);
                if word & (RESIDENT | LIVE) != RESIDENT || !claim.is_reached() {
                    continue;
                }
                match ranges.last_mut() {
                    Some((_, end, last)) if *end == page && *last == claim => *end = page + PAGE,
                    _ => ranges.push((page, page + PAGE, claim)),
                }
            }
        }
        ranges
    }

    /// An arena of Python's small objects.
    pub(crate) fn add_arena(&mut self, start: u64, end: u64) {
        self.arenas.push((start, end));
    }

    /// Python's arenas of small objects.
    pub(crate) fn arenas(&self) -> &[(u64, u64)] {
        &self.arenas
    }

    /// Where the stack ends that an address lies in; `None` where none is known.
    pub(crate) fn end_of_stack(&self, address: u64) -> Option<u64> {
        let at = self.all.partition_point(|pages| pages.end <= address);
        let pages = self.all.get(at).filter(|pages| pages.start <= address)?;
        let first = ((address - pages.start) / PAGE) as usize;
        let is_stack = |word: &&u32| Claim::from_raw(**word & CLAIM) == Claim::Stack;
        let length = pages.words[first..].iter().take_while(is_stack).count();
        (length > 0).then(|| pages.start + (first + length) as u64 * PAGE)
    }

    /// Whether a page is resident.
    pub(crate) fn is_resident(&self, address: u64) -> bool {
        let at = self.all.partition_point(|pages| pages.end <= address);
        self.all.get(at).is_some_and(|pages| {
            address >= pages.start && pages.words[((address - pages.start) / PAGE) as usize] & RESIDENT != 0
        })
    }

    /// What the pages of each area are, with the area's place in the list. A page with live blocks is the heap's, whoever
    /// claims it: only our own memory and pools keep their pages.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (usize, Parts)> {
        self.all.iter().map(|pages| (pages.area, parts_of(pages)))
    }
}

fn parts_of(pages: &Pages) -> Parts {
    let mut parts = Parts { live: pages.live, ..Parts::default() };
    let mut run = (0, 0u64);
    for word in pages.words.iter().filter(|&&word| word & RESIDENT != 0) {
        let claim = match Claim::from_raw(word & CLAIM) {
            claim @ (Claim::Heaplens | Claim::Pool(_)) => claim,
            _ if word & LIVE != 0 => Claim::Heap,
            claim => claim,
        };
        match claim {
            Claim::Nobody if word & INHERITED != 0 => {
                parts.inherited += PAGE;
                continue;
            }
            Claim::Heap if word & INHERITED != 0 => parts.inherited_heap += PAGE,
            _ => {}
        }
        if claim.raw() != run.0 {
            parts.add(Claim::from_raw(run.0), run.1);
            run = (claim.raw(), 0);
        }
        run.1 += PAGE;
    }
    parts.add(Claim::from_raw(run.0), run.1);
    for (&pool, part) in &mut parts.pools {
        part.live = pages.live_in_pools[pool as usize].min(part.pages);
    }
    parts.inherited_heap -= pages.live_inherited.min(parts.inherited_heap);
    parts
}

impl Parts {
    fn add(&mut self, claim: Claim, bytes: u64) {
        match claim {
            _ if bytes == 0 => {}
            Claim::Heap => self.heap += bytes,
            Claim::Pool(pool) => self.pools.entry(pool).or_default().pages += bytes,
            other => *self.others.entry(other).or_default() += bytes,
        }
    }

    /// Resident bytes by pages.
    pub(crate) fn total(&self) -> u64 {
        let pools: u64 = self.pools.values().map(|part| part.pages).sum();
        self.heap + pools + self.inherited + self.others.values().sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const START: u64 = 0x10000;

    fn space(resident: &[bool]) -> Space {
        let words = resident.iter().map(|&there| if there { RESIDENT } else { 0 }).collect();
        let end = START + resident.len() as u64 * PAGE;
        Space { all: vec![Pages::new(0, (START, end), words)], ..Space::default() }
    }

    fn live_of(layer: Layer, bytes: u64) -> [u64; Layer::COUNT] {
        let mut live = [0; Layer::COUNT];
        live[layer as usize] = bytes;
        live
    }

    fn parts(space: &Space) -> Parts {
        space.parts().next().unwrap().1
    }

    #[test]
    fn a_block_that_was_never_touched_is_nowhere() {
        let mut space = space(&[true, false, false, false]);
        space.claim(START, START + 4 * PAGE, Claim::Heap);
        space.add_block(START + 16, 3 * PAGE, Layer::Native);
        let parts = parts(&space);
        assert_eq!((parts.heap, parts.live), (PAGE, live_of(Layer::Native, PAGE - 16)));
    }

    #[test]
    fn a_page_with_live_blocks_is_the_heaps_whoever_mapped_it() {
        let mut space = space(&[true, true]);
        space.claim(START, START + 2 * PAGE, Claim::Mapped(7));
        space.add_block(START, 100, Layer::Numpy);
        let parts = parts(&space);
        assert_eq!((parts.heap, parts.live), (PAGE, live_of(Layer::Numpy, 100)));
        assert_eq!(parts.others, BTreeMap::from([(Claim::Mapped(7), PAGE)]));
    }

    /// Pages 0, 1 and 3 were there at the start; 0 has a block of the process's own, 1 is the heap's, 3 and 4 are nobody's.
    #[test]
    fn what_was_inherited_is_told_from_what_came_later() {
        let mut space = space(&[true, true, true, true, true]);
        let began = self::space(&[true, true, false, true, false]).resident();
        assert_eq!(began, [(START, START + 2 * PAGE), (START + 3 * PAGE, START + 4 * PAGE)]);
        space.inherit(&began);
        space.claim(START, START + 3 * PAGE, Claim::Heap);
        space.add_block(START, 96, Layer::Native);
        let parts = parts(&space);
        assert_eq!((parts.heap, parts.live[0]), (3 * PAGE, 96));
        assert_eq!((parts.inherited_heap, parts.inherited), (2 * PAGE - 96, PAGE));
        assert_eq!(parts.others, BTreeMap::from([(Claim::Nobody, PAGE)]));
        assert_eq!(parts.total(), 5 * PAGE);
    }

    proptest! {
        /// The naive twin counts byte by byte.
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
                space.claim(START + page * PAGE, START + (page + count) * PAGE, claim);
                (page..page + count).for_each(|page| {
                    if let Some(place) = claimed.get_mut(page as usize) { *place = claim }
                });
            }
            let mut at = START;
            let mut live = 0;
            let mut touched = vec![false; resident.len()];
            for (gap, size) in blocks.into_iter().map(|(gap, size)| (gap * 16, size * 100)) {
                at += gap;
                space.add_block(at, size, Layer::Native);
                for byte in at..at + size {
                    let page = ((byte - START) / PAGE) as usize;
                    if page < resident.len() {
                        touched[page] = true;
                        live += u64::from(resident[page]);
                    }
                }
                at += size;
            }
            let parts = parts(&space);
            prop_assert_eq!(parts.live[0], live);
            prop_assert_eq!(parts.total(), resident.iter().filter(|&&there| there).count() as u64 * PAGE);
            let heap = (0..resident.len()).filter(|&page| {
                let ours = matches!(claimed[page], Claim::Heaplens | Claim::Pool(_));
                resident[page] && !ours && (touched[page] || claimed[page] == Claim::Heap)
            });
            prop_assert_eq!(parts.heap, heap.count() as u64 * PAGE);
        }
    }
}
