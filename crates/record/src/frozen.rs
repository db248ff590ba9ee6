//! A process that stands still, and its heap: live blocks, the memory that can lead to them, and the registers. It is read
//! from the outside, and goes on when it is dropped.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use heaplens_format::arena::HeaderView;
use heaplens_format::arena::header::{HEADER_SIZE, KEPT_REGISTERS};
use heaplens_format::recording::LeakCheck;
use heaplens_format::{Addr, Pid};

use crate::kernel;
use crate::ledger::{Outline, Subject};
use crate::trace::Threads;

pub use crate::ledger::Block as LiveBlock;

/// Words below the stack pointer that a function may use without moving it.
pub(crate) const RED_ZONE: u64 = 128;

/// What exit handlers may have on the stack.
const DEEPEST_EXIT: u64 = 1 << 20;

/// The thread that ends the process, when it began to.
struct Leaving {
    stack: Option<u64>,
    registers: [u64; KEPT_REGISTERS],
}

impl Leaving {
    fn of(arena: &File) -> Option<Self> {
        let mut bytes = vec![0; HEADER_SIZE];
        arena.read_exact_at(&mut bytes, 0).ok()?;
        let header = HeaderView::new(&bytes)?;
        let stack = Some(header.leaving_stack()).filter(|&stack| stack != 0);
        Some(Self { stack, registers: header.leaving_registers() })
    }
}

/// A process whose threads all stand still.
#[derive(Debug)]
pub struct Frozen {
    process: Pid,
    registers: Vec<u64>,
    outline: Outline,
    /// Let go when this is dropped.
    _threads: Threads,
}

/// Is shown a process that waits at its end, all threads stopped, and says which of its blocks can be reached. Sites are
/// numbered as those of [`LiveBlock`].
pub type Examiner<'a> = &'a mut dyn FnMut(&Frozen) -> LeakCheck;

/// Why the heap of a process cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum NotFrozen {
    /// The kernel does not let us.
    #[error("its threads cannot be stopped: {0}")]
    Threads(io::Error),
    /// Its tables do not tell of all blocks.
    #[error("{0}")]
    Blocks(&'static str),
    /// Its memory or its arena cannot be read.
    #[error("its memory cannot be read: {0}")]
    Memory(io::Error),
}

impl Frozen {
    /// Stops a process. Of the thread that ends it counts what it held when it began to: since then functions have left
    /// their words on its stack.
    pub(crate) fn stop(process: Pid, subject: &mut Subject, arena: &File) -> Result<Self, NotFrozen> {
        let threads = Threads::stop(process).map_err(NotFrozen::Threads)?;
        let leaving = Leaving::of(arena).ok_or(NotFrozen::Blocks("its arena cannot be read"))?;
        let ends = |stack: u64| leaving.stack.filter(|&from| stack <= from && from - stack < DEEPEST_EXIT);
        let stacks: Vec<u64> = threads
            .iter()
            .map(|thread| ends(thread.stack).unwrap_or(thread.stack.saturating_sub(RED_ZONE)))
            .collect();
        let of_program = threads.iter().filter(|thread| ends(thread.stack).is_none());
        let registers = of_program.flat_map(|thread| thread.registers).chain(leaving.registers).collect();
        let outline = subject.outline(arena, &stacks)?;
        Ok(Self { process, registers, outline, _threads: threads })
    }

    /// Its live blocks.
    pub fn blocks(&self) -> &[LiveBlock] {
        &self.outline.blocks
    }

    /// Memory that is in no block and that the program reaches by itself, as ranges of addresses.
    pub fn roots(&self) -> &[(u64, u64)] {
        &self.outline.roots
    }

    /// The data of the C library, where its allocator keeps pointers to the chunks behind blocks.
    pub fn allocator_data(&self) -> &[(u64, u64)] {
        &self.outline.allocator_data
    }

    /// Registers of its threads.
    pub fn registers(&self) -> &[u64] {
        &self.registers
    }

    /// Reads its memory, as far as it can be read from an address on.
    pub fn read(&self, address: u64, into: &mut [u8]) -> usize {
        kernel::read_memory(self.process, Addr::new(address), into)
    }
}
