//! A frame as the stack trie keeps it: one word that holds a module and an address in it, or, instead of an address, what the
//! frame says about its stack.

/// The module number of frames that are no code but say something about the stack.
pub const FRAME_PSEUDO_MODULE: u16 = u16::MAX;

const PC_BITS: u32 = 48;
/// Set in the frames of sections: no address of a program and no other pseudo frame has it.
const SECTIONS: u64 = 1 << (PC_BITS - 1);

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

/// The frame that stands innermost on a stack that allocates while sections are open ([`super::section`]): the set of their bits.
#[inline(always)]
pub const fn sections_frame(open: u32) -> u64 {
    frame_word(FRAME_PSEUDO_MODULE, SECTIONS | open as u64)
}

/// The sections that such a frame stands for; `None` for any other.
pub const fn split_sections_frame(frame: u64) -> Option<u32> {
    match split_frame(frame) {
        (FRAME_PSEUDO_MODULE, word) if word & SECTIONS != 0 => Some(word as u32),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CounterId, Pseudo};
    use super::*;

    #[test]
    fn a_frame_of_sections_is_no_other_pseudo_frame() {
        for open in [1, 64, 65, 0xffff, u32::MAX] {
            let frame = sections_frame(open);
            assert_eq!(split_sections_frame(frame), Some(open));
            assert_eq!((Pseudo::from_frame(frame), CounterId::from_frame(frame)), (None, None));
        }
        assert_eq!(split_sections_frame(Pseudo::Break.frame()), None);
        assert_eq!(split_sections_frame(frame_word(3, SECTIONS | 1)), None);
    }
}
