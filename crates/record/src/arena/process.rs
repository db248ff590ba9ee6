//! Reads an arena from the outside, also while its process writes or after it was killed in the middle of a store.
//!
//! Everything is copied with `pread` before it is interpreted: no number is trusted, and an entry that makes no sense is counted as
//! torn and left out. The result upholds the invariants of the recording's model.

use std::fs::File;
use std::os::unix::fs::FileExt;

use heaplens_format::arena::header::{FLAG_FORKED, RegionView};
use heaplens_format::arena::table::{ModuleRecord, SAMPLED_BLOCK, SiteIdentity, SiteRecord};
use heaplens_format::arena::{CounterId, End, HeaderView, MODULE_SIZE, Region, SITE_SIZE};
use heaplens_format::loss::LOSS_SLOTS;
use heaplens_format::memory::Sampling;
use heaplens_format::recording::{
    Amount, CheckedSection, Counters, Exit, Interpreter, MemoryError, Module, Node, Process, ProcessEnd, Rss,
    Site, SiteKind, Threads,
};
use heaplens_format::{Addr, Bytes, Loss, Nanos, NodeId, Pid};

use super::codes::Codes;
use super::counters::{CounterRecords, Names};
use super::error::ArenaError;
use super::errors;
use super::findings::Findings;
use super::header::header_bytes;
use super::marks::{self, Changes};
use super::records::{string, word};
use super::sections::section;
use super::site_counters::{SiteCounters, Sum};
use super::stacks::{AllocationKind, Trie};
use super::threads::ThreadSlots;

/// Reads a whole arena. CPU time, time line, symbols and an exit that the agent did not see are left to the caller.
pub fn read_process(file: &File, start_of_run: Nanos, ticks_per_second: f64) -> Result<Process, ArenaError> {
    read_with_findings(file, start_of_run, ticks_per_second, Findings::default())
}

/// The same with findings.
pub(crate) fn read_with_findings(
    file: &File,
    start_of_run: Nanos,
    ticks_per_second: f64,
    mut findings: Findings,
) -> Result<Process, ArenaError> {
    let bytes = header_bytes(file)?;
    let header = HeaderView::new(&bytes).ok_or(ArenaError::NotAnArena)?;
    let mut reader = Reader { file, header, torn: 0 };
    // A table is read before the tables that it refers to, so that records which are added in between are read, too.
    let [changes, loops] = [Region::Changes, Region::Loops].map(|region| reader.region(region));
    let marks = reader.marks();
    let notes = reader.region(Region::Notes);
    let since_start = |ns: u64| Nanos::new(ns.saturating_sub(start_of_run.get()));
    let mut errors = errors::read(&reader.region(Region::Errors)?, since_start);
    let [sites, slots, nodes, codes, modules, names, strings] = [
        Region::Sites,
        Region::Threads,
        Region::Nodes,
        Region::Codes,
        Region::Modules,
        Region::Counters,
        Region::Strings,
    ]
    .map(|region| reader.region(region));
    let (sites, codes, strings) = (sites?, codes?, strings?);
    let modules = reader.modules(&modules?, &strings);
    let mut codes = Codes::new(&codes, &strings);
    let loops = marks::loops(&loops?, &mut codes, since_start);
    let (marks, kept) = marks::marks(&marks?, header.moment(), &strings, &loops, since_start);
    let Found { nodes, sites, records, counted, threads, sets, begun } =
        reader.stacks(&sites, &nodes?, ThreadSlots::new(&slots?), (&modules, &mut codes), &mut errors);
    let amount = |sum, kind| reader.amount(sum, kind);
    findings.number_sites(&records);
    let checked = header.sections().zip(begun).map(|(one, begun)| {
        let check = findings.sections.remove(&one.0);
        CheckedSection { begun, ..section(one, &strings, &sets, check) }
    });
    let checked = checked.collect();
    let numbers = records.iter().map(|one| one.numbers).chain(counted.iter().map(|one| one.numbers));
    let changes = Changes::read(&changes?, kept, numbers.flatten().max().unwrap_or(0));
    let histories = marks::histories(&changes, &records, amount);
    let names = Names::new(&names?, &strings);
    let counters = Counters { rows: names.rows(&counted, &changes), notes: names.notes(&notes?, &strings) };
    let (codes, torn) = codes.finish();
    reader.torn += torn;
    Ok(Process {
        pid: Pid::new(header.pid()),
        parent: Pid::new(header.parent()),
        command: header.command().map(text).collect(),
        executable: text(header.executable()),
        forked: header.flags() & FLAG_FORKED != 0,
        end: end_of(&header),
        start: since_start(header.start_ns()),
        finish: since_start(header.end_ns()),
        agent_cpu: Nanos::new((header.hook_ticks() as f64 / ticks_per_second * 1e9) as u64),
        guarded_blocks: header.guarded_blocks(),
        arena_bytes: Bytes::new(header.reserved_bytes()),
        agent_private_bytes: Bytes::new(header.private_bytes()),
        rss: rss_of(&header),
        peak_live: Bytes::new(header.peak_bytes()),
        python: Interpreter::from_raw(header.python()),
        object_interval: Some(Bytes::new(header.object_interval()))
            .filter(|&interval| interval > Bytes::ZERO),
        modules,
        codes,
        nodes,
        sites,
        loops,
        marks,
        histories,
        ledgers: findings.ledgers,
        leaks: findings.leaks,
        heap: findings.heap,
        counters,
        threads,
        errors,
        canary_checks: findings.canary_checks,
        sections: checked,
        losses: reader.losses(),
        ..Process::default()
    })
}

fn end_of(header: &HeaderView<'_>) -> ProcessEnd {
    match header.end() {
        End::Unseen => ProcessEnd::Unknown,
        End::Exited => ProcessEnd::Ended(Exit::Code(header.end_code())),
        End::Replaced => ProcessEnd::Replaced,
    }
}

fn rss_of(header: &HeaderView<'_>) -> Option<Rss> {
    let (start, end) = (header.rss_start(), header.rss_end());
    let end = if end == 0 { start } else { end };
    (start != 0).then(|| Rss {
        start: Bytes::new(start),
        peak: Bytes::new(start.max(end)),
        end: Bytes::new(end),
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Stacks and sites as the recording numbers them, with the records that each site comes from.
struct Found {
    nodes: Vec<Node>,
    sites: Vec<Site>,
    records: Vec<marks::Records>,
    counted: Vec<CounterRecords>,
    threads: Threads,
    /// For each site the sections in which it allocated, as bits.
    sets: Vec<u32>,
    /// Where each section was opened first.
    begun: Vec<NodeId>,
}

/// What a site is, and what each of its records has live.
enum Sited {
    Memory(Site, [Sum; 2]),
    Counter(CounterId, NodeId, [Sum; 2]),
}

struct Reader<'a> {
    file: &'a File,
    header: HeaderView<'a>,
    torn: u64,
}

impl Reader<'_> {
    fn region(&self, region: Region) -> Result<Vec<u8>, ArenaError> {
        self.records(region, Bytes::new(self.header.region(region).used))
    }

    fn marks(&self) -> Result<Vec<u8>, ArenaError> {
        let length =
            marks::length(self.header.moment()).min(Bytes::new(self.header.region(Region::Marks).capacity));
        self.records(Region::Marks, length)
    }

    fn records(&self, region: Region, length: Bytes) -> Result<Vec<u8>, ArenaError> {
        let RegionView { offset, .. } = self.header.region(region);
        let used = length.get();
        let of_file = self.file.metadata()?.len();
        if offset.checked_add(used).is_none_or(|end| end > of_file) {
            return Err(ArenaError::OutOfFile { region, offset, claimed: used });
        }
        let mut bytes = vec![0; used as usize];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    fn modules(&mut self, records: &[u8], strings: &[u8]) -> Vec<Module> {
        records.chunks_exact(MODULE_SIZE).map(|record| self.module(record, strings)).collect()
    }

    fn module(&mut self, record: &[u8], strings: &[u8]) -> Module {
        let field = |at: usize| word(record, at);
        if field(std::mem::offset_of!(ModuleRecord, published)) != 1 {
            self.torn += 1;
            return Module::default();
        }
        let string = |at: usize| string(strings, field(at));
        Module {
            path: text(string(std::mem::offset_of!(ModuleRecord, path))),
            build_id: string(std::mem::offset_of!(ModuleRecord, build_id)).to_vec(),
            bias: Addr::new(field(std::mem::offset_of!(ModuleRecord, bias))),
        }
    }

    /// The sites that ever allocated, and the nodes of the trie that are on their stacks or on those of memory errors.
    fn stacks(
        &mut self,
        sites: &[u8],
        nodes: &[u8],
        mut slots: ThreadSlots<'_>,
        (modules, codes): (&[Module], &mut Codes<'_>),
        errors: &mut [MemoryError],
    ) -> Found {
        let mut trie = Trie::new(nodes, modules);
        let (mut found, mut records, mut counted) = (Vec::new(), Vec::new(), Vec::new());
        let mut sets = Vec::new();
        for (number, record) in (0..).zip(sites.chunks_exact(SITE_SIZE)) {
            let identity = word(record, std::mem::offset_of!(SiteRecord, identity));
            let Some(identity) = SiteIdentity::from_raw(identity) else { continue };
            let numbers = [number, identity.second()];
            match self.site(identity, record, sites, &mut trie) {
                Some(Sited::Memory(site, live)) => {
                    found.push(site);
                    sets.push(trie.sections(identity.node()));
                    slots.add(
                        identity.slot(),
                        SiteCounters::at(sites, identity.second()).allocated().blocks != 0,
                    );
                    records.push(marks::Records { numbers, live, kind: site.kind });
                }
                Some(Sited::Counter(counter, node, live)) => {
                    counted.push(CounterRecords { counter, node, numbers, live });
                }
                None => {}
            }
        }
        errors::enter(errors, &mut trie);
        let begun = self.header.sections().map(|(_, section)| section.begun);
        let begun: Vec<NodeId> =
            begun.map(|node| trie.enter(node).map_or(NodeId::default(), |path| path.node)).collect();
        let (order, torn) = trie.finish(codes);
        errors::number(errors, &order);
        self.torn += torn;
        found.iter_mut().for_each(|site| site.node = order.new_number(site.node));
        counted.iter_mut().for_each(|one| one.node = order.new_number(one.node));
        let begun = begun.into_iter().map(|node| order.new_number(node)).collect();
        Found { nodes: order.nodes, sites: found, records, counted, threads: slots.threads, sets, begun }
    }

    /// The site; `None` where it never counted anything.
    fn site(&self, identity: SiteIdentity, record: &[u8], all: &[u8], trie: &mut Trie<'_>) -> Option<Sited> {
        let (owner, shared) = (SiteCounters::new(record), SiteCounters::at(all, identity.second()));
        let allocated = owner.allocated().plus(shared.allocated());
        if allocated.blocks == 0 {
            return None;
        }
        let live = owner.live().plus(shared.live());
        let peak = Bytes::new(self.header.peak_bytes());
        let at_peak = owner.at_peak(peak).plus(shared.at_peak(peak));
        let path = trie.enter(identity.node())?;
        let parts = [owner.live(), shared.live()];
        let kind = match path.kind {
            AllocationKind::Memory(kind) => kind,
            AllocationKind::Counter(counter) => return Some(Sited::Counter(counter, path.node, parts)),
        };
        let amount = |sum: Sum| self.amount(sum, kind);
        let site = Site {
            node: path.node,
            kind,
            live: amount(live),
            peak: amount(at_peak),
            allocated: amount(allocated),
        };
        Some(Sited::Memory(site, parts))
    }

    /// A count that is below zero, since the process was killed in the middle of an event, becomes zero.
    fn amount(&self, sum: Sum, kind: SiteKind) -> Amount {
        let (bytes, blocks) = (sum.bytes.max(0) as u64, sum.blocks.max(0) as u64);
        let sampled = match kind.category().row().sampling {
            Sampling::Heap => self.header.sample_interval() != 0,
            Sampling::Objects => self.header.object_interval() > 1,
            Sampling::Never => false,
        };
        let blocks = if sampled { (blocks + SAMPLED_BLOCK / 2) / SAMPLED_BLOCK } else { blocks };
        Amount { bytes: Bytes::new(bytes), blocks }
    }

    fn losses(&self) -> Vec<(Loss, u64)> {
        let count = |loss: Loss| {
            let slot = loss as usize;
            let counted = if slot < LOSS_SLOTS { self.header.loss(slot) } else { 0 };
            counted.saturating_add(if loss == Loss::TornEntry { self.torn } else { 0 })
        };
        Loss::ALL.iter().map(|&loss| (loss, count(loss))).filter(|&(_, count)| count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use heaplens_format::arena::MAGIC;
    use heaplens_format::arena::header::{HEADER_SIZE, Header, RegionExtent};

    use super::*;

    fn put(arena: &mut [u8], at: usize, words: &[u64]) {
        for (word, value) in arena[at..].chunks_exact_mut(8).zip(words) {
            word.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// A header, and one table after it.
    fn arena_with(region: Region, table: &[u8]) -> Vec<u8> {
        let mut arena = vec![0; HEADER_SIZE];
        put(&mut arena, 0, &[MAGIC]);
        let row = offset_of!(Header, regions) + region as usize * size_of::<RegionExtent>();
        let length = table.len() as u64;
        put(&mut arena, row, &[HEADER_SIZE as u64, length, length, length]);
        arena.extend(table);
        arena
    }

    fn read(arena: &[u8]) -> Process {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(arena, 0).unwrap();
        read_process(&file, Nanos::new(0), 1e9).unwrap()
    }

    #[test]
    fn a_loss_counter_at_its_limit_stays_there_when_a_torn_entry_is_found() {
        let mut arena = arena_with(Region::Modules, &[0; MODULE_SIZE]);
        put(&mut arena, offset_of!(Header, losses) + 8 * Loss::TornEntry as usize, &[u64::MAX]);
        assert_eq!(read(&arena).losses, [(Loss::TornEntry, u64::MAX)]);
    }
}
