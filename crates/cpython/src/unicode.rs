//! Strings: where the characters of one lie, how wide they are, and what they say.

use crate::fixed::unicode::{
    KIND_MASK, KIND_SHIFT, LENGTH, STATE, STATE_ASCII as ASCII, STATE_COMPACT as COMPACT,
};
use crate::layout::Unicode;
use crate::memory::ReadMemory;

/// Bits of the state before the width of a character: not 0 where the string is interned.
const INTERNED: u64 = (1 << KIND_SHIFT) - 1;

/// The state of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(u32);

impl State {
    /// From the half word that it is.
    pub const fn new(bits: u32) -> Self {
        Self(bits)
    }

    /// Whether the characters follow the head of the string.
    #[inline(always)]
    pub fn is_compact(self) -> bool {
        u64::from(self.0) & COMPACT != 0
    }

    /// Whether all of them are ASCII: then there is no other copy of them.
    #[inline(always)]
    pub fn is_ascii(self) -> bool {
        u64::from(self.0) & ASCII != 0
    }

    /// Whether it is the one string with its characters that names are compared by.
    #[inline(always)]
    pub fn is_interned(self) -> bool {
        u64::from(self.0) & INTERNED != 0
    }

    /// Bytes of a character.
    fn width(self) -> Option<Width> {
        match u64::from(self.0) >> KIND_SHIFT & KIND_MASK {
            1 => Some(Width::One),
            2 => Some(Width::Two),
            4 => Some(Width::Four),
            _ => None,
        }
    }
}

/// Bytes of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Up to U+00FF.
    One = 1,
    /// Up to U+FFFF.
    Two = 2,
    /// Any.
    Four = 4,
}

/// A string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// Its first character.
    pub start: u64,
    /// How many there are.
    pub length: u64,
    /// How wide each is.
    pub width: Width,
    /// Whether they follow its head.
    pub is_compact: bool,
}

impl Text {
    /// That of a `str` object; `None` where it cannot be one.
    pub fn of<M: ReadMemory>(memory: &M, layout: &Unicode, object: u64) -> Option<Self> {
        let length = memory.word(object + LENGTH)?;
        let state = State(memory.half(object + STATE)?);
        let start = match (state.is_compact(), state.is_ascii()) {
            (true, true) => object + layout.ascii,
            (true, false) => object + layout.compact,
            // Objects of subclasses have their characters elsewhere.
            (false, _) => memory.word(object + layout.compact)?,
        };
        Some(Self { start, length, width: state.width()?, is_compact: state.is_compact() })
    }
}

impl Width {
    /// The characters in bytes that were read; what is none becomes U+FFFD.
    pub fn decode(self, bytes: &[u8]) -> impl Iterator<Item = char> + Clone {
        bytes.chunks_exact(self as usize).map(|bytes| {
            let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
            char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;

    #[test]
    fn characters_of_every_width_are_read_and_others_are_replaced() {
        let text = |width: Width, bytes: &[u8]| width.decode(bytes).collect::<String>();
        assert_eq!(text(Width::One, &[0x61, 0xe4]), "aä");
        assert_eq!(text(Width::Two, &[0x3a, 0x04, 0x00, 0xd8]), "к\u{fffd}");
        assert_eq!(text(Width::Four, &[0xdd, 0xf5, 0x01, 0x00, 0xff]), "🗝");
    }
}
