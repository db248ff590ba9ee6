//! Foreign memory: bytes of a process that need not be there.

/// Memory of a process, by address.
pub trait ReadMemory {
    /// Fills `into` with what lies at `address`, as far as it can be read from there on; returns how many bytes that is.
    fn read(&self, address: u64, into: &mut [u8]) -> usize;

    /// Fills all of it; false where it cannot.
    #[inline(always)]
    fn fill(&self, address: u64, into: &mut [u8]) -> bool {
        self.read(address, into) == into.len()
    }

    /// So many bytes, or none where some of them cannot be read.
    #[inline(always)]
    fn bytes<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(address, &mut bytes).then_some(bytes)
    }

    /// A word of 64 bits.
    #[inline(always)]
    fn word(&self, address: u64) -> Option<u64> {
        self.bytes(address).map(u64::from_le_bytes)
    }

    /// Half a word.
    #[inline(always)]
    fn half(&self, address: u64) -> Option<u32> {
        self.bytes(address).map(u32::from_le_bytes)
    }

    /// A byte.
    #[inline(always)]
    fn byte(&self, address: u64) -> Option<u8> {
        self.bytes(address).map(|[byte]| byte)
    }

    /// A word that could point to something.
    #[inline(always)]
    fn pointer(&self, address: u64) -> Option<u64> {
        self.word(address).filter(|&word| is_address(word))
    }
}

/// User space ends here, and nothing of a program lies in its first pages.
const ADDRESSES: core::ops::Range<u64> = 0x1_0000..1 << 47;

/// Whether an object, or a table of pointers, could lie here.
#[inline]
pub fn is_address(word: u64) -> bool {
    word.is_multiple_of(8) && ADDRESSES.contains(&word)
}
