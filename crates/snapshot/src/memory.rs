//! Memory that is read by whoever must not trust it.

use std::fmt;

/// Memory that stays as it is while it is read: of a process that stands still, of a copy of one, or of a file.
pub trait ReadMemory {
    /// Fills `into` with what lies at `address`, as far as it can be read from there on; how many bytes that is.
    fn read(&self, address: u64, into: &mut [u8]) -> usize;
}

type Read = dyn Fn(u64, &mut [u8]) -> usize + Send + Sync;

/// The memory of a snapshot, wherever it is.
pub struct Memory(Box<Read>);

impl Memory {
    /// Memory that is read through `source`, which is dropped with it.
    pub fn new(source: impl ReadMemory + Send + Sync + 'static) -> Self {
        Self(Box::new(move |address, into| source.read(address, into)))
    }
}

impl ReadMemory for Memory {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        (self.0)(address, into)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Memory")
    }
}
