//! Memory that is read by whoever must not trust it.

use std::fmt;

pub use heaplens_cpython::ReadMemory;

type Read = dyn Fn(u64, &mut [u8]) -> usize + Send + Sync;

/// The memory of a snapshot, wherever it is: it stays as it is while it is read.
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
