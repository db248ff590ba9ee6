//! A process that stands still, and its heap: live blocks, the memory that can lead to them, and the registers. It is read
//! from the outside, and goes on when it is dropped.

use std::fs::File;
use std::io;

use heaplens_format::recording::LeakCheck;
use heaplens_format::{Addr, Pid};

use crate::kernel;
use crate::ledger::{Outline, Subject};
use crate::trace::Threads;

pub use crate::ledger::Block as LiveBlock;

/// A process whose threads all stand still.
#[derive(Debug)]
pub struct Frozen {
    process: Pid,
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
    /// Stops a process and looks at it.
    pub(crate) fn stop(process: Pid, subject: &mut Subject, arena: &File) -> Result<Self, NotFrozen> {
        let threads = Threads::stop(process).map_err(NotFrozen::Threads)?;
        let outline = subject.outline(arena, &threads)?;
        Ok(Self { process, outline, _threads: threads })
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
        &self.outline.registers
    }

    /// Reads its memory, as far as it can be read from an address on.
    pub fn read(&self, address: u64, into: &mut [u8]) -> usize {
        kernel::read_memory(self.process, Addr::new(address), into)
    }
}
