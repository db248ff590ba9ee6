//! Takes a ledger of a process from the outside: every resident byte on one line. It changes nothing in the process.
//!
//! ```text
//!   smaps ─▶ areas ─┬─ with a file, shared, a stack: whole, to one line
//!                   └─ anonymous: page by page (pagemap) ─▶ live blocks (arena), pools (Python), who mapped it (arena)
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use heaplens_format::arena::header::{FLAG_FORKED, HeaderView};
use heaplens_format::memory::{Allocator, ClaimedBy, Layer, Line, LiveParts, Pool};
use heaplens_format::recording::{Interpreter, Ledger, LedgerMapping, LineBytes};
use heaplens_format::{Addr, Bytes, Pid};
use heaplens_snapshot::Span;

use super::pools::Layout;
use super::sites::Sites;
use crate::address_space::{Area, Claim, Images, Pagemap, Parts, PoolPart, Space};
use crate::address_space::{areas, heaps, own, stacks};
use crate::arena::{self, SeenMapping, Tables};

/// Mappings that are named in a ledger.
const MOST_MAPPINGS: usize = 24;
/// Smaller ones are not.
const SMALLEST_MAPPING: Bytes = Bytes::new(64 << 10);

/// A process, with what is known of it from the ledger before.
#[derive(Debug)]
pub(crate) struct Subject {
    process: Pid,
    /// File names of Heaplens's own: the arena and the agent.
    own_files: Vec<String>,
    sites: Sites,
    images: Images,
    /// Of one that began by `fork`: the anonymous pages that were resident when it was first looked at.
    inherited: Option<Vec<Span>>,
}

impl Subject {
    /// Nothing is read yet.
    pub(crate) fn new(process: Pid, own_files: Vec<String>) -> Self {
        Self { process, own_files, sites: Sites::default(), images: Images::default(), inherited: None }
    }

    /// The same of one that began by `fork`, or of a copy of it, where it is known which pages it inherited.
    pub(crate) fn inheriting(self, inherited: Option<Vec<Span>>) -> Self {
        Self { inherited, ..self }
    }

    /// Its memory is found by the number of this thread: where its first one has ended, by no other.
    pub(crate) fn read_by(&mut self, thread: Pid) {
        self.process = thread;
    }

    /// Pages that it inherited, where it began by `fork` and was looked at.
    pub(crate) fn inherited(&self) -> Option<&Vec<Span>> {
        self.inherited.as_ref()
    }

    /// Notes the anonymous pages that are resident now as those that it inherited, unless that is known.
    pub(crate) fn note_inherited(&mut self) {
        if self.inherited.is_none()
            && let (Ok(areas), Ok(mut pagemap)) = (areas::read(self.process), Pagemap::open(self.process))
            && let Ok(space) = Space::read(&areas, &mut pagemap)
        {
            self.inherited = Some(space.resident());
        }
    }

    /// Marks the pages of a process that began by `fork`: what is resident now, where nothing was noted before.
    pub(super) fn mark_inherited(&mut self, space: &mut Space, header: &HeaderView<'_>) -> bool {
        let is_forked = header.flags() & FLAG_FORKED != 0;
        if is_forked {
            space.inherit(self.inherited.get_or_insert_with(|| space.resident()));
        }
        is_forked
    }

    /// Takes a ledger; `None` when the process has exited or may not be read. The moment is filled in by the caller.
    pub(crate) fn take(&mut self, arena: &File) -> Option<Ledger> {
        let tables = Tables::open(arena)?;
        let header = tables.header()?;
        let areas = areas::read_whole(self.process)?;
        self.divide(&tables, &header, &areas).ok()
    }

    fn divide(&mut self, tables: &Tables<'_>, header: &HeaderView<'_>, areas: &[Area]) -> io::Result<Ledger> {
        let mut space = Space::read(areas, &mut Pagemap::open(self.process)?)?;
        self.mark_inherited(&mut space, header);
        self.sites.update(tables)?;
        self.claim(&mut space, tables, header, areas)?;
        let is_sampled = header.sample_interval() != 0;
        if is_sampled {
            for block in heaps::mapped_blocks(self.process, &space.unclaimed()) {
                space.claim(block, Claim::Heap);
            }
        } else {
            let sites = &mut self.sites;
            arena::each(tables, |block| {
                space.add_block(block.address, block.size, sites.owner(tables, block.site));
            })?;
        }
        let estimates = if is_sampled { Some(self.sites.estimates(tables)?) } else { None };
        let mut sums = Sums::default();
        sums.add_all(areas, &space, |area| self.claim_of(area));
        Ok(sums.ledger(areas, estimates))
    }

    /// File names of Heaplens's own.
    pub(crate) fn own_files(&self) -> &[String] {
        &self.own_files
    }

    /// The process, or the thread by whose number its memory is found.
    pub(crate) fn process(&self) -> Pid {
        self.process
    }

    /// Claims the pages of everybody who is known. A later claim overrides an earlier one.
    pub(super) fn claim(
        &mut self,
        space: &mut Space,
        tables: &Tables<'_>,
        header: &HeaderView<'_>,
        areas: &[Area],
    ) -> io::Result<()> {
        for stack in stacks::find(self.process, areas) {
            space.claim(stack, Claim::Stack);
        }
        for (index, image) in self.images.find(self.process, areas) {
            let claim = if self.is_own(&areas[index]) { Claim::Heaplens } else { Claim::Image };
            space.claim(image, claim);
        }
        for heap in areas.iter().filter(|area| area.name == "[heap]") {
            space.claim(heap.span, Claim::Heap);
        }
        for heap in heaps::find(self.process, areas) {
            space.claim(heap, Claim::Heap);
        }
        self.claim_mapped(space, tables, header)?;
        for range in own::ranges(self.process, Addr::new(header.own_ranges())) {
            space.claim(range, Claim::Heaplens);
        }
        Ok(())
    }

    fn claim_mapped(
        &mut self,
        space: &mut Space,
        tables: &Tables<'_>,
        header: &HeaderView<'_>,
    ) -> io::Result<()> {
        let python = Interpreter::from_raw(header.python()).and_then(Layout::of);
        for SeenMapping { span, site } in tables.mappings()? {
            let arena = python.filter(|layout| {
                span.length().get() == layout.sizes.arena
                    && space.is_resident(layout.first_pool(span.start))
                    && layout.begins_at(self.process, span.start)
            });
            if let Some(layout) = arena {
                space.claim(span, Claim::Pool(Allocator::Pymalloc));
                space.add_arena(span);
                let objects = layout.objects(self.process, span.start, |page| space.is_resident(page));
                space.add_parts(Allocator::Pymalloc, span.start, objects);
            } else if let Some(pool) = Allocator::of_region(site) {
                // In a sampled run most of its parts are not known: it is divided by estimates, as the heap is.
                let is_sampled = header.sample_interval() != 0;
                space.claim(span, if is_sampled { Claim::Heap } else { Claim::Pool(pool) });
            } else if self.sites.is_allocators(tables, site) {
                space.claim(span, Claim::Heap);
            } else {
                space.claim(span, Claim::Mapped(site));
            }
        }
        Ok(())
    }

    /// Whether an area is the arena or the agent.
    pub(super) fn is_own(&self, area: &Area) -> bool {
        let name = area.name.strip_suffix(" (deleted)").unwrap_or(&area.name);
        let name = name.rsplit('/').next().unwrap_or_default();
        area.has_file && self.own_files.iter().any(|own| own == name)
    }

    /// Who claims an area that is not divided by pages.
    fn claim_of(&self, area: &Area) -> ClaimedBy {
        const SHARED: [&str; 4] = ["/dev/zero", "/SYSV", "/memfd:", "/dev/shm/"];
        let begins = |names: &[&str]| names.iter().any(|name| area.name.starts_with(name));
        match area.name.as_str() {
            _ if self.is_own(area) => ClaimedBy::Heaplens,
            "[stack]" => ClaimedBy::Stacks,
            name if name.starts_with('[') && !area.is_anonymous() => ClaimedBy::Files,
            _ if !area.is_private && (begins(&SHARED) || !area.has_file) => ClaimedBy::Sharers,
            _ if !area.has_file || begins(&["/dev/", "anon_inode:"]) => ClaimedBy::NoMaker,
            _ => ClaimedBy::Files,
        }
    }
}

/// The lines of a ledger while areas are added up.
#[derive(Default)]
struct Sums {
    lines: LineBytes,
    live: [Bytes; Layer::COUNT],
    heap: Bytes,
    /// What of it was inherited by `fork`, beside live blocks.
    inherited_heap: Bytes,
    mappings: BTreeMap<(Line, String, Option<u32>), Bytes>,
}

impl Sums {
    fn add_all(&mut self, areas: &[Area], space: &Space, claim_of: impl Fn(&Area) -> ClaimedBy) {
        let mut divided = vec![false; areas.len()];
        for (index, parts) in space.parts() {
            divided[index] = true;
            self.add_parts(&areas[index], &parts);
        }
        for (area, _) in
            areas.iter().zip(divided).filter(|(area, divided)| !divided && area.rss > Bytes::ZERO)
        {
            self.add_mapping(claim_of(area), &area.name, None, area.rss);
        }
    }

    fn add(&mut self, claim: ClaimedBy, bytes: Bytes) {
        self.lines.add(Line::of(claim), bytes);
    }

    fn add_mapping(&mut self, claim: ClaimedBy, name: &str, site: Option<u32>, bytes: Bytes) {
        self.add(claim, bytes);
        let line = Line::of(claim);
        if bytes > Bytes::ZERO && line.row().mappings.is_some() {
            *self.mappings.entry((line, name.to_owned(), site)).or_default() += bytes;
        }
    }

    /// Pages of zeros that were only ever read are in the page map and not in RSS: the kernel's sum is divided as the pages
    /// are. What rounding leaves is nobody's.
    fn add_parts(&mut self, area: &Area, parts: &Parts) {
        let (rss, total) = (area.rss, parts.total());
        if total == Bytes::ZERO {
            return self.add(ClaimedBy::Nobody, rss);
        }
        let wide = |bytes: Bytes| u128::from(bytes.get());
        let scaled = |bytes: Bytes| Bytes::new((wide(bytes) * wide(rss) / wide(total)) as u64);
        let mut left = rss;
        let mut take = |bytes: Bytes| {
            let bytes = scaled(bytes).min(left);
            left = left.saturating_sub(bytes);
            bytes
        };
        let (heap, inherited) = (take(parts.heap), take(parts.inherited));
        let pools = parts.pools.iter().map(|(&pool, part)| {
            let pages = take(part.pages);
            (pool, PoolPart { pages, live: scaled(part.live).min(pages) })
        });
        let pools: Vec<(Allocator, PoolPart)> = pools.collect();
        let others: Vec<(Claim, Bytes)> =
            parts.others.iter().map(|(&claim, &bytes)| (claim, take(bytes))).collect();
        let blocks_in_pools: Bytes = pools.into_iter().map(|(pool, part)| self.add_pool(pool, part)).sum();
        self.add_heap(heap + blocks_in_pools, parts.live.map(scaled));
        self.inherited_heap += scaled(parts.inherited_heap);
        self.add(ClaimedBy::Parent, inherited);
        for (claim, bytes) in others {
            self.add_claimed(area, claim, bytes);
        }
        self.add(ClaimedBy::Nobody, left);
    }

    /// What is not in use of a pool has its own line. What is in use is returned where it is blocks, which are divided with
    /// those of the heap.
    fn add_pool(&mut self, pool: Allocator, part: PoolPart) -> Bytes {
        self.add(ClaimedBy::UnusedPool(pool), part.pages.saturating_sub(part.live));
        match pool.row().pool {
            Some(Pool { live: LiveParts::AreRead(layer), .. }) => {
                self.add(ClaimedBy::LiveBlocks(layer), part.live);
                Bytes::ZERO
            }
            _ => part.live,
        }
    }

    fn add_heap(&mut self, heap: Bytes, live: [Bytes; Layer::COUNT]) {
        self.heap += heap;
        let mut left = heap;
        for (sum, bytes) in self.live.iter_mut().zip(live) {
            let bytes = bytes.min(left);
            left = left.saturating_sub(bytes);
            *sum += bytes;
        }
    }

    fn add_claimed(&mut self, area: &Area, claim: Claim, bytes: Bytes) {
        match claim {
            Claim::Mapped(site) => self.add_mapping(claim.of_page(), "", Some(site), bytes),
            Claim::Nobody => self.add_mapping(claim.of_page(), &area.name, None, bytes),
            _ => self.add(claim.of_page(), bytes),
        }
    }

    /// The heap is live blocks and the rest. What a child that began by `fork` inherited of it holds blocks of its parent, which
    /// its tables do not know.
    fn ledger(mut self, areas: &[Area], estimates: Option<[Bytes; Layer::COUNT]>) -> Ledger {
        if let Some(estimates) = estimates {
            let whole = std::mem::take(&mut self.heap);
            self.live = [Bytes::ZERO; Layer::COUNT];
            self.add_heap(whole, estimates);
        }
        for &layer in Layer::ALL {
            self.add(ClaimedBy::LiveBlocks(layer), self.live[layer as usize]);
        }
        let rest = self.heap.saturating_sub(self.live.iter().copied().sum());
        let inherited = self.inherited_heap.min(rest);
        self.add(ClaimedBy::Parent, inherited);
        self.add(ClaimedBy::FreeHeap, rest.saturating_sub(inherited));
        let sum = |field: fn(&Area) -> Bytes| areas.iter().map(field).sum();
        Ledger {
            rss: sum(|area| area.rss),
            pss: sum(|area| area.pss),
            uss: sum(|area| area.uss),
            is_estimated: estimates.is_some(),
            lines: self.lines,
            mappings: largest(self.mappings),
            ..Ledger::default()
        }
    }
}

fn largest(mappings: BTreeMap<(Line, String, Option<u32>), Bytes>) -> Vec<LedgerMapping> {
    let mut rows: Vec<LedgerMapping> = mappings
        .into_iter()
        .filter(|&(_, bytes)| bytes >= SMALLEST_MAPPING)
        .map(|((line, name, site), bytes)| LedgerMapping { line, name, site, bytes })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
    rows.truncate(MOST_MAPPINGS);
    rows
}
