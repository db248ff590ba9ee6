//! A frame as the stack trie keeps it: one word that holds a module and an address in it, or, instead of an address, what the
//! frame says about its stack.

/// The module number of frames that are no code but say something about the stack.
pub const FRAME_PSEUDO_MODULE: u16 = u16::MAX;

const PC_BITS: u32 = 48;

/// A frame as the trie keeps it: the module in the upper 16 bits, the return address below.
#[inline(always)]
pub const fn frame_word(module: u16, pc: u64) -> u64 {
    (module as u64) << PC_BITS | (pc & ((1 << PC_BITS) - 1))
}

/// The module and the address of a frame.
#[inline(always)]
pub const fn split_frame(frame: u64) -> (u16, u64) {
    ((frame >> PC_BITS) as u16, frame & ((1 << PC_BITS) - 1))
}
