//! The heap of a process that stands still, as far as it can be told from the outside: its live blocks, and the memory outside
//! of them that the program reaches by itself. Free memory of the allocator, stacks of threads that ended and our own memory
//! are neither.

use std::io;

use heaplens_format::Pid;
use heaplens_format::arena::header::FLAG_FORKED;
use heaplens_format::arena::{Family, HeaderView};
use heaplens_format::recording::Interpreter;

use super::areas::{self, Area};
use super::blocks::{self, Block};
use super::claim::Claim;
use super::objects;
use super::pages::Pagemap;
use super::sites::Owner;
use super::space::Space;
use super::stacks;
use super::tables::Tables;
use super::take::Subject;
use crate::snapshot::frozen::NotFrozen;
use crate::tracing::StoppedThread;

/// Bytes below the stack pointer that a function may use without moving it.
const RED_ZONE: u64 = 128;
/// What exit handlers may have on the stack.
const DEEPEST_EXIT: u64 = 1 << 20;

/// Blocks, and what may lead to them.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) blocks: Vec<Block>,
    /// Small objects of Python that were recorded.
    pub(crate) objects: Vec<Block>,
    pub(crate) roots: Vec<RootRange>,
    /// The same for data of the C library, which holds the state of its allocator, too.
    pub(crate) allocator_data: Vec<(u64, u64)>,
    /// Registers of its threads.
    pub(crate) registers: Vec<u64>,
    pub(crate) areas: Vec<MappedArea>,
    pub(crate) python: Option<Interpreter>,
    pub(crate) python_arenas: Vec<(u64, u64)>,
}

/// Memory in no block that the program reaches by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootRange {
    /// Where it begins.
    pub start: u64,
    /// The first address behind it.
    pub end: u64,
    /// What it is.
    pub kind: RootKind,
}

/// What a root is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootKind {
    /// Data of a module, or of a file that is mapped.
    Data,
    /// The used part of a stack, with the thread's own data behind it.
    Stack {
        /// The number of the thread.
        thread: u32,
    },
    /// Memory that the program mapped itself.
    Mapped {
        /// The stack that mapped it, as the arena numbers them.
        site: u32,
    },
    /// Anonymous memory that nobody is known to have.
    Anonymous,
}

/// An area of the address space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedArea {
    /// Where it begins.
    pub start: u64,
    /// The first address behind it.
    pub end: u64,
    /// Where in its file it begins.
    pub offset: u64,
    /// The path of its file, or a name in brackets; empty where there is none.
    pub name: String,
    /// Whether it can be written to.
    pub is_writable: bool,
}

/// Threads of a process that stands still, or of the one that it is an image of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seen<'a> {
    /// All of them, with their registers.
    All(&'a [StoppedThread]),
    /// One, by its number and where its stack began. The others ran on: all of their stacks counts.
    One {
        /// The process that it is of.
        process: Pid,
        /// Its number.
        thread: u32,
        /// Where its stack began.
        stack: u64,
    },
}

impl Subject {
    /// Of a process that stands still, whose threads these are. It may be an image of the one that they are of.
    pub(crate) fn outline(&mut self, tables: &Tables<'_>, threads: &Seen<'_>) -> Result<Outline, NotFrozen> {
        let header = tables.header().ok_or(NotFrozen::Blocks(UNREADABLE))?;
        refusal(&header).map_or(Ok(()), |why| Err(NotFrozen::Blocks(why)))?;
        self.outline_of(tables, &header, threads).map_err(NotFrozen::Memory)
    }

    fn outline_of(
        &mut self,
        tables: &Tables<'_>,
        header: &HeaderView<'_>,
        threads: &Seen<'_>,
    ) -> io::Result<Outline> {
        let areas = areas::read(self.process())?;
        let mut pagemap = Pagemap::open(self.process())?;
        let mut space = Space::read_touched(&areas, &mut pagemap)?;
        self.claim(&mut space, tables, header, &areas)?;
        let (blocks, mut objects) = live_blocks(tables, &mut space)?;
        objects.extend(objects::read(self.process(), &mut pagemap, header.object_samples())?);
        objects.sort_unstable_by_key(|object| object.address);
        let (stacks, registers) = match *threads {
            Seen::All(threads) => held_by_threads(threads, header),
            Seen::One { thread, stack, .. } => (vec![(thread, stack)], Vec::new()),
        };
        let mut roots = self.roots(&areas, &space, &mut pagemap, &stacks)?;
        if let Seen::One { process, stack, .. } = *threads {
            roots.extend(self.whole_stacks(&areas, &mut pagemap, process, stack)?);
        }
        Ok(Outline {
            blocks,
            objects,
            roots,
            allocator_data: self.data(&areas, &mut pagemap, is_of_libc)?,
            registers,
            python: Interpreter::from_raw(header.python()),
            python_arenas: space.arenas().to_vec(),
            areas: areas.into_iter().map(shown).collect(),
        })
    }

    /// Memory with a file that can be written to: data of modules, shared memory. Of private memory what was never touched is as
    /// the file has it, and leads nowhere.
    fn data(
        &self,
        areas: &[Area],
        pagemap: &mut Pagemap,
        is_wanted: impl Fn(&str) -> bool,
    ) -> io::Result<Vec<(u64, u64)>> {
        let is_data = |area: &&Area| area.is_writable && !area.is_anonymous() && !is_device(&area.name);
        let mut ranges = Vec::new();
        for area in
            areas.iter().filter(is_data).filter(|area| area.name != "[stack]" && is_wanted(&area.name))
        {
            match area.is_private {
                _ if self.is_own(area) => {}
                true => ranges.extend(pagemap.touched(area.start, area.end)?),
                false => ranges.push((area.start, area.end)),
            }
        }
        Ok(ranges)
    }

    /// All of each stack that was ever touched, but of the one that this address is in. The first thread is numbered as the process.
    fn whole_stacks(
        &self,
        areas: &[Area],
        pagemap: &mut Pagemap,
        process: Pid,
        seen: u64,
    ) -> io::Result<Vec<RootRange>> {
        let first = areas.iter().filter(|area| area.name == "[stack]").map(|area| (area.start, area.end));
        let others = stacks::find(self.process(), areas).into_iter().map(|range| (range, 0));
        let mut roots = Vec::new();
        for ((start, end), thread) in first.map(|range| (range, process.get())).chain(others) {
            if !(start..end).contains(&seen) {
                let touched = pagemap.touched(start, end)?.into_iter();
                let kind = RootKind::Stack { thread };
                roots.extend(touched.map(|(start, end)| RootRange { start, end, kind }));
            }
        }
        Ok(roots)
    }

    fn roots(
        &self,
        areas: &[Area],
        space: &Space,
        pagemap: &mut Pagemap,
        threads: &[(u32, u64)],
    ) -> io::Result<Vec<RootRange>> {
        let data = self.data(areas, pagemap, |name| !is_of_libc(name))?.into_iter();
        let mut roots: Vec<RootRange> =
            data.map(|(start, end)| RootRange { start, end, kind: RootKind::Data }).collect();
        let reachable = space.reachable().into_iter();
        roots.extend(reachable.map(|(start, end, claim)| RootRange { start, end, kind: kind_of(claim) }));
        let tables = stacks::tables(self.process(), &stacks::find(self.process(), areas)).into_iter();
        roots.extend(tables.map(|(start, end)| RootRange { start, end, kind: RootKind::Anonymous }));
        roots.extend(threads.iter().filter_map(|&(thread, stack)| {
            let (start, end) = rest_of_stack(areas, space, stack)?;
            Some(RootRange { start, end, kind: RootKind::Stack { thread } })
        }));
        Ok(roots)
    }
}

const UNREADABLE: &str = "its arena cannot be read";

/// Why the tables of a process do not tell of all its blocks.
pub(crate) fn refusal(header: &HeaderView<'_>) -> Option<&'static str> {
    if header.sample_interval() != 0 {
        return Some("only a sample of its blocks was recorded");
    }
    let is_forked = header.flags() & FLAG_FORKED != 0;
    is_forked.then_some("it was forked, and blocks that it inherited are not known")
}

/// Live blocks of `malloc` and its kin, and small objects of Python.
fn live_blocks(tables: &Tables<'_>, space: &mut Space) -> io::Result<(Vec<Block>, Vec<Block>)> {
    let (mut all, mut objects) = (Vec::new(), Vec::new());
    blocks::each_of_all(tables, |block, family| {
        if family == Family::PythonObject {
            objects.push(block);
        } else {
            space.add_block(block.address, block.size, Owner::Native);
            all.push(block);
        }
    })?;
    Ok((all, objects))
}

/// Where the stack of each thread begins, and what registers hold. Of the thread that ends the process counts what it held when
/// it began to: since then functions have left their words on its stack.
fn held_by_threads(threads: &[StoppedThread], header: &HeaderView<'_>) -> (Vec<(u32, u64)>, Vec<u64>) {
    let leaving = header.leaving_stack();
    let ends = |thread: &StoppedThread| {
        thread.stack().get() <= leaving && leaving - thread.stack().get() < DEEPEST_EXIT
    };
    let mut registers = header.leaving_registers().to_vec();
    let mut stacks = Vec::new();
    for thread in threads {
        let number = thread.thread as u32;
        if ends(thread) {
            stacks.push((number, leaving));
        } else {
            stacks.push((number, thread.stack().get().saturating_sub(RED_ZONE)));
            registers.extend(thread.general());
        }
    }
    (stacks, registers)
}

fn kind_of(claim: Claim) -> RootKind {
    match claim {
        Claim::Image => RootKind::Data,
        Claim::Mapped(site) => RootKind::Mapped { site },
        _ => RootKind::Anonymous,
    }
}

fn shown(area: Area) -> MappedArea {
    let Area { start, end, offset, name, is_writable, .. } = area;
    MappedArea { start, end, offset, name, is_writable }
}

fn is_of_libc(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|file| file.starts_with("libc.so.") || file.starts_with("libc-2."))
}

/// Memory of a device may change by being read.
fn is_device(name: &str) -> bool {
    name.starts_with("/dev/") && !name.starts_with("/dev/shm/") && !name.starts_with("/dev/zero")
}

/// From where a stack begins now to its first byte. Thread-local data lies behind it in the same memory.
fn rest_of_stack(areas: &[Area], space: &Space, stack: u64) -> Option<(u64, u64)> {
    let area = areas.iter().find(|area| area.start <= stack && stack < area.end)?;
    Some((stack, space.end_of_stack(stack).unwrap_or(area.end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_is_told_by_its_file() {
        assert!(is_of_libc("/usr/lib/x86_64-linux-gnu/libc.so.6") && is_of_libc("/lib/libc-2.31.so"));
        assert!(!is_of_libc("/usr/lib/libcrypto.so.3") && !is_of_libc("[heap]"));
    }

    #[test]
    fn devices_are_not_read_but_shared_memory_is() {
        assert!(is_device("/dev/nvidia0") && is_device("/dev/dri/card0"));
        assert!(!is_device("/dev/shm/x") && !is_device("/dev/zero (deleted)") && !is_device("/opt/dev/x"));
    }
}
