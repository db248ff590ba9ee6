//! The heap of a frozen process, as far as it can be known from the outside: its live blocks, and the root set, the memory outside of
//! them that the program reaches by itself. Free memory of the allocator, stacks of threads that ended and our own memory are
//! neither. It is read off the same pages and claims as the ledger.

use std::io;

use heaplens_format::arena::HeaderView;
use heaplens_format::memory::Layer;
use heaplens_format::recording::Interpreter;
use heaplens_format::{Addr, Bytes, Pid};
use heaplens_snapshot::{
    Block, Mapping, PythonHeap, RootKind, RootRange, RootRegister, RootSet, Span, ThreadState,
};

use super::inherited::{self, Inherited};
use super::pools::Layout;
use super::take::Subject;
use crate::address_space::{Area, Claim, Pagemap, Space, areas, objects, stacks};
use crate::arena::{self, Tables};
use crate::tracing::StoppedThread;

/// Bytes below the stack pointer that a function may use without moving it.
const RED_ZONE: Bytes = Bytes::new(128);
/// The most that exit handlers have on the stack.
const DEEPEST_EXIT: Bytes = Bytes::new(1 << 20);

/// What a snapshot consists of besides memory.
#[derive(Debug, Default)]
pub(crate) struct FrozenHeap {
    /// Live blocks.
    pub(crate) blocks: Vec<Block>,
    /// Those that the program keeps on purpose.
    pub(crate) ignored: Vec<Addr>,
    /// What may lead to them.
    pub(crate) roots: RootSet,
    /// The address space.
    pub(crate) mappings: Vec<Mapping>,
    /// Small objects of Python.
    pub(crate) python: Option<PythonHeap>,
}

/// Threads of a frozen process, or of the program that it is a copy of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SeenThreads<'a> {
    /// All of them, with their registers.
    All(&'a [StoppedThread]),
    /// One, by its number and its stack pointer. The others ran on: all of their stacks counts.
    One {
        /// The process that it is of.
        process: Pid,
        /// Its number.
        thread: u32,
        /// Its stack pointer.
        stack: Addr,
    },
}

impl Subject {
    /// Of a frozen process, whose threads these are. It may be a copy of the one that they are of.
    pub(crate) fn frozen_heap(
        &mut self,
        tables: &Tables<'_>,
        threads: &SeenThreads<'_>,
    ) -> io::Result<FrozenHeap> {
        let header = tables.header().ok_or(io::ErrorKind::InvalidData)?;
        let areas = areas::read(self.process())?;
        let mut pagemap = Pagemap::open(self.process())?;
        let mut space = Space::read_touched(&areas, &mut pagemap)?;
        let is_forked = self.mark_inherited(&mut space, &header);
        self.claim(&mut space, tables, &header, &areas)?;
        let LiveBlocks { mut blocks, mut objects, ignored } = live_blocks(tables, &mut space)?;
        let inherited = if is_forked {
            self.read_inherited(&areas, &mut space, &header, &mut blocks)
        } else {
            Vec::new()
        };
        let samples = Addr::new(header.object_samples());
        objects.extend(objects::read(self.process(), &mut pagemap, samples)?);
        objects.sort_unstable_by_key(|object| object.address);
        let mut roots = self.root_set(&areas, &space, &mut pagemap, &header, threads)?;
        roots.ranges.extend(inherited.into_iter().map(|span| root(span, RootKind::Anonymous)));
        let arenas = space.arenas().to_vec();
        let python = Interpreter::from_raw(header.python()).map(|python| PythonHeap {
            version: (python.major, python.minor),
            arenas,
            sampled: objects,
        });
        let mappings = areas.into_iter().map(mapping).collect();
        Ok(FrozenHeap { blocks, ignored, roots, mappings, python })
    }

    /// Adds the blocks of its parent to its own; returns the memory in which there may be others.
    fn read_inherited(
        &self,
        areas: &[Area],
        space: &mut Space,
        header: &HeaderView<'_>,
        blocks: &mut Vec<Block>,
    ) -> Vec<Span> {
        if let Some(layout) = Interpreter::from_raw(header.python()).and_then(Layout::of) {
            inherited::claim_pools(self.process(), space, layout);
        }
        blocks.sort_unstable_by_key(|block| block.address);
        let found = Inherited::read(self.process(), areas, space, blocks);
        blocks.extend(found.blocks);
        found.roots
    }

    fn root_set(
        &self,
        areas: &[Area],
        space: &Space,
        pagemap: &mut Pagemap,
        header: &HeaderView<'_>,
        threads: &SeenThreads<'_>,
    ) -> io::Result<RootSet> {
        let HeldByThreads { stacks, registers, running } = match *threads {
            SeenThreads::All(threads) => held_by_threads(threads, header),
            SeenThreads::One { thread, stack, .. } => {
                HeldByThreads { stacks: vec![(thread, stack)], ..HeldByThreads::default() }
            }
        };
        let mut ranges = self.ranges(areas, space, pagemap, &stacks)?;
        if let SeenThreads::One { process, stack, .. } = *threads {
            ranges.extend(self.whole_stacks(areas, pagemap, process, stack)?);
        }
        let allocator_data = self.data(areas, pagemap, is_of_libc)?.into_iter();
        Ok(RootSet {
            ranges,
            allocator_data: allocator_data.map(|span| root(span, RootKind::Data)).collect(),
            registers: registers.into_iter().map(|word| RootRegister { thread: 0, word }).collect(),
            threads: running,
        })
    }

    /// Memory with a file that can be written to: data of modules, shared memory. Of private memory what was never touched is as
    /// the file has it, and leads nowhere.
    fn data(
        &self,
        areas: &[Area],
        pagemap: &mut Pagemap,
        is_wanted: impl Fn(&str) -> bool,
    ) -> io::Result<Vec<Span>> {
        let is_data = |area: &&Area| area.is_writable && !area.is_anonymous() && !is_device(&area.name);
        let mut spans = Vec::new();
        for area in
            areas.iter().filter(is_data).filter(|area| area.name != "[stack]" && is_wanted(&area.name))
        {
            match area.is_private {
                _ if self.is_own(area) => {}
                true => spans.extend(pagemap.touched(area.span)?),
                false => spans.push(area.span),
            }
        }
        Ok(spans)
    }

    /// All of each stack that was ever touched, but of the one that this address is in. The first thread is numbered as the process.
    fn whole_stacks(
        &self,
        areas: &[Area],
        pagemap: &mut Pagemap,
        process: Pid,
        seen: Addr,
    ) -> io::Result<Vec<RootRange>> {
        let first = areas.iter().filter(|area| area.name == "[stack]").map(|area| (area.span, process.get()));
        let others = stacks::find(self.process(), areas).into_iter().map(|span| (span, 0));
        let mut roots = Vec::new();
        for (stack, thread) in first.chain(others) {
            if !stack.contains(seen) {
                let touched = pagemap.touched(stack)?.into_iter();
                let kind = RootKind::Stack { thread };
                roots.extend(touched.map(|span| root(span, kind)));
            }
        }
        Ok(roots)
    }

    fn ranges(
        &self,
        areas: &[Area],
        space: &Space,
        pagemap: &mut Pagemap,
        threads: &[(u32, Addr)],
    ) -> io::Result<Vec<RootRange>> {
        let data = self.data(areas, pagemap, |name| !is_of_libc(name))?.into_iter();
        let mut roots: Vec<RootRange> = data.map(|span| root(span, RootKind::Data)).collect();
        let reachable = space.reachable().into_iter();
        roots.extend(reachable.map(|(span, claim)| root(span, kind_of(claim))));
        let tables = stacks::tables(self.process(), &stacks::find(self.process(), areas)).into_iter();
        roots.extend(tables.map(|span| root(span, RootKind::Anonymous)));
        roots.extend(threads.iter().filter_map(|&(thread, stack)| {
            Some(root(rest_of_stack(areas, space, stack)?, RootKind::Stack { thread }))
        }));
        Ok(roots)
    }
}

/// The reason where an arena has no header.
pub(crate) const UNREADABLE: &str = "its arena cannot be read";

/// Why the tables of a process do not list all its blocks.
pub(crate) fn incomplete(tables: &Tables<'_>) -> Option<&'static str> {
    tables.header().map_or(Some(UNREADABLE), |header| refusal(&header))
}

/// The same by its header.
pub(crate) fn refusal(header: &HeaderView<'_>) -> Option<&'static str> {
    (header.sample_interval() != 0).then_some("only a sample of its blocks was recorded")
}

/// Live blocks of `malloc` and its kin, and small objects of Python.
fn live_blocks(tables: &Tables<'_>, space: &mut Space) -> io::Result<LiveBlocks> {
    let mut found = LiveBlocks::default();
    arena::each_of_all(tables, |block, family, is_ignored| {
        if family.is_of_heap() {
            space.add_block(block.address, block.size, Layer::Native);
            found.blocks.push(block);
        } else {
            found.objects.push(block);
        }
        if is_ignored {
            found.ignored.push(block.address);
        }
    })?;
    Ok(found)
}

/// What the block table lists.
#[derive(Default)]
struct LiveBlocks {
    blocks: Vec<Block>,
    /// Small objects of Python.
    objects: Vec<Block>,
    /// Blocks that the program keeps on purpose.
    ignored: Vec<Addr>,
}

/// What threads have on their stacks and in their registers.
#[derive(Debug, Default)]
struct HeldByThreads {
    /// The stack pointer of each thread.
    stacks: Vec<(u32, Addr)>,
    /// Words.
    registers: Vec<u64>,
    /// Those that do not exit.
    running: Vec<ThreadState>,
}

/// Of the thread that ends the process, the state when it began to counts: since then functions have left stale words on its stack.
fn held_by_threads(threads: &[StoppedThread], header: &HeaderView<'_>) -> HeldByThreads {
    let (leaving, from) = (Addr::new(header.leaving_stack()), Addr::new(header.leaving_from()));
    let stacks: Vec<Addr> = threads.iter().map(StoppedThread::stack).collect();
    let ending = nearest_below(&stacks, from);
    let registers = header.leaving_registers().to_vec();
    let mut held = HeldByThreads { registers, ..HeldByThreads::default() };
    for (at, thread) in threads.iter().enumerate() {
        let number = thread.thread as u32;
        if ending == Some(at) {
            held.stacks.push((number, leaving));
        } else {
            held.stacks.push((number, without_red_zone(thread.stack())));
            held.registers.extend(thread.general());
            held.running.push(thread.state());
        }
    }
    held
}

/// Which of these stack pointers is that of the thread that was at an address: stacks of other threads may lie below its own.
fn nearest_below(stacks: &[Addr], from: Addr) -> Option<usize> {
    let depth = |stack: Addr| (stack <= from && from - stack < DEEPEST_EXIT).then(|| from - stack);
    let depths = stacks.iter().enumerate().filter_map(|(at, &stack)| Some((depth(stack)?, at)));
    depths.min().map(|(_, at)| at)
}

fn kind_of(claim: Claim) -> RootKind {
    match claim {
        Claim::Image => RootKind::Data,
        Claim::Mapped(site) => RootKind::Mapped { site },
        _ => RootKind::Anonymous,
    }
}

/// The lowest address that a function may use.
fn without_red_zone(stack: Addr) -> Addr {
    Addr::new(stack.get().saturating_sub(RED_ZONE.get()))
}

fn root(span: Span, kind: RootKind) -> RootRange {
    RootRange { span, kind }
}

fn mapping(area: Area) -> Mapping {
    let Area { span, offset, name, is_writable, .. } = area;
    Mapping { span, offset, name, is_writable }
}

fn is_of_libc(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|file| file.starts_with("libc.so.") || file.starts_with("libc-2."))
}

/// Memory of a device may change by being read.
fn is_device(name: &str) -> bool {
    name.starts_with("/dev/") && !name.starts_with("/dev/shm/") && !name.starts_with("/dev/zero")
}

/// From a stack pointer to the end of the stack. Thread-local data comes after it in the same memory. That of a stack that is full may lie
/// below its memory.
fn rest_of_stack(areas: &[Area], space: &Space, stack: Addr) -> Option<Span> {
    let is_near = |area: &&Area| area.span.start <= stack || area.span.start - stack < DEEPEST_EXIT;
    let area = areas.iter().find(|area| area.span.end > stack).filter(is_near)?;
    let start = stack.max(area.span.start);
    Some(Span::new(start, space.end_of_stack(start).unwrap_or(area.span.end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_is_recognised_by_its_file() {
        assert!(is_of_libc("/usr/lib/x86_64-linux-gnu/libc.so.6") && is_of_libc("/lib/libc-2.31.so"));
        assert!(!is_of_libc("/usr/lib/libcrypto.so.3") && !is_of_libc("[heap]"));
    }

    #[test]
    fn the_thread_that_ends_the_process_is_the_nearest_one_below() {
        let stacks = [0x7000_0000, 0x7001_0000, 0x7003_0000].map(Addr::new);
        assert_eq!(nearest_below(&stacks, Addr::new(0x7001_0100)), Some(1));
        assert_eq!(nearest_below(&stacks, Addr::new(0x7000_0000)), Some(0));
        assert_eq!(nearest_below(&stacks, Addr::new(0x6fff_0000)), None);
        assert_eq!(nearest_below(&stacks, Addr::new(0x7013_0000)), None, "no exit is so deep");
        assert_eq!(nearest_below(&stacks, Addr::default()), None, "nothing ends");
    }

    #[test]
    fn devices_are_not_read_but_shared_memory_is() {
        assert!(is_device("/dev/nvidia0") && is_device("/dev/dri/card0"));
        assert!(!is_device("/dev/shm/x") && !is_device("/dev/zero (deleted)") && !is_device("/opt/dev/x"));
    }
}
