//! The heap of a process that stands still, as far as it can be told from the outside: its live blocks, and the memory outside
//! of them that the program reaches by itself. Free memory of the allocator, stacks of threads that ended and our own memory
//! are neither.

use std::fs::File;
use std::io;

use heaplens_format::arena::HeaderView;
use heaplens_format::arena::header::FLAG_FORKED;

use super::areas::{self, Area};
use super::blocks::{self, Block};
use super::pages::Pagemap;
use super::sites::Owner;
use super::space::Space;
use super::tables::Tables;
use super::take::Subject;
use crate::frozen::NotFrozen;
use crate::trace::{Stopped, Threads};

/// Bytes below the stack pointer that a function may use without moving it.
const RED_ZONE: u64 = 128;
/// What exit handlers may have on the stack.
const DEEPEST_EXIT: u64 = 1 << 20;

/// Blocks, and what may lead to them.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) blocks: Vec<Block>,
    /// Ranges of addresses.
    pub(crate) roots: Vec<(u64, u64)>,
    /// The same for data of the C library, which holds the state of its allocator, too.
    pub(crate) allocator_data: Vec<(u64, u64)>,
    /// Registers of its threads.
    pub(crate) registers: Vec<u64>,
}

impl Subject {
    /// Of a process whose threads all stand still.
    pub(crate) fn outline(&mut self, arena: &File, threads: &Threads) -> Result<Outline, NotFrozen> {
        let tables = Tables::open(arena).ok_or(NotFrozen::Blocks("its arena cannot be read"))?;
        let header = tables.header().ok_or(NotFrozen::Blocks("its arena cannot be read"))?;
        if header.sample_interval() != 0 {
            return Err(NotFrozen::Blocks("only a sample of its blocks was recorded"));
        }
        if header.flags() & FLAG_FORKED != 0 {
            return Err(NotFrozen::Blocks("it was forked, and blocks that it inherited are not known"));
        }
        let areas = areas::read(self.process()).map_err(NotFrozen::Memory)?;
        let of_memory = |error| NotFrozen::Memory(error);
        let mut space = Pagemap::open(self.process())
            .and_then(|mut pagemap| Space::read(&areas, &mut pagemap))
            .map_err(of_memory)?;
        self.claim(&mut space, &tables, &header, &areas).map_err(of_memory)?;
        let blocks = self.live_blocks(&tables, &mut space).map_err(of_memory)?;
        let (stacks, registers) = held_by_threads(threads, &header);
        let roots = self.roots(&areas, &space, &stacks);
        let allocator_data = self.data(&areas).filter(|area| is_of_libc(&area.name)).map(range).collect();
        Ok(Outline { blocks, roots, allocator_data, registers })
    }

    fn live_blocks(&self, tables: &Tables<'_>, space: &mut Space) -> io::Result<Vec<Block>> {
        let mut all = Vec::new();
        blocks::each(tables, |block| {
            space.add_block(block.address, block.size, Owner::Native);
            all.push(block);
        })?;
        Ok(all)
    }

    /// Memory with a file that can be written to: data of modules, shared memory.
    fn data<'a>(&self, areas: &'a [Area]) -> impl Iterator<Item = &'a Area> {
        let is_data = |area: &&Area| area.is_writable && !area.is_anonymous() && !is_device(&area.name);
        areas.iter().filter(is_data).filter(|area| area.name != "[stack]" && !self.is_own(area))
    }

    fn roots(&self, areas: &[Area], space: &Space, stacks: &[u64]) -> Vec<(u64, u64)> {
        let data = self.data(areas).filter(|area| !is_of_libc(&area.name));
        let mut roots: Vec<(u64, u64)> = data.map(range).collect();
        roots.extend(space.reachable());
        roots.extend(stacks.iter().filter_map(|&stack| rest_of_stack(areas, space, stack)));
        roots
    }
}

/// Where the stack of each thread begins, and what registers hold. Of the thread that ends the process counts what it held when
/// it began to: since then functions have left their words on its stack.
fn held_by_threads(threads: &Threads, header: &HeaderView<'_>) -> (Vec<u64>, Vec<u64>) {
    let leaving = header.leaving_stack();
    let ends = |thread: &Stopped| thread.stack <= leaving && leaving - thread.stack < DEEPEST_EXIT;
    let mut registers = header.leaving_registers().to_vec();
    let mut stacks = Vec::new();
    for thread in threads.iter() {
        if ends(thread) {
            stacks.push(leaving);
        } else {
            stacks.push(thread.stack.saturating_sub(RED_ZONE));
            registers.extend(thread.registers);
        }
    }
    (stacks, registers)
}

fn range(area: &Area) -> (u64, u64) {
    (area.start, area.end)
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
