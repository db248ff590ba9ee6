//! How to get from one frame to its caller, in one word, so that a look-up in the cache is one load.
//!
//! ```text
//!   │ 63 … 38 CFA offset / 8, signed │ 37 … 22 rbp slot / 8, signed │ 21 … 6 module │ 5 4 rbp │ 3 … 0 kind │
//! ```

/// How the canonical frame address (the stack pointer after the return) is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Kind {
    /// rsp + offset.
    Rsp = 1,
    /// rbp + offset.
    Rbp = 2,
    /// *(rbp + offset): a frame that realigned its stack (DRAP).
    DerefRbp = 3,
    /// *(rsp + offset) + 8: hand-written code that saved rsp on its stack.
    DerefRspPlus8 = 4,
    /// The trampoline of a signal handler: all registers are in the context on the stack.
    Signal = 5,
    /// The outermost frame of a thread.
    End = 6,
    /// A stub of the procedure linkage table: one word more from a position in the stub on, which is the offset / 8.
    Plt = 7,
    /// Another register + offset: the prologue of a function that realigns its stack (r10) or touches it page by page
    /// (r11), the last instructions of one that leaves by an exception (rcx). Known only directly below a signal frame.
    Register = 8,
    /// No unwind information covers the address, or it says something that is not known here.
    Unknown = 9,
}

/// Where the caller's rbp is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum RbpRule {
    /// In rbp still.
    Same = 0,
    /// In memory, relative to the CFA.
    AtCfa = 1,
    /// In memory, relative to this frame's rbp.
    AtRbp = 2,
}

const KIND_MASK: u64 = 15;
const RBP_SHIFT: u32 = 4;
const MODULE_SHIFT: u32 = 6;
const SLOT_SHIFT: u32 = 22;
const CFA_SHIFT: u32 = 38;

/// A rule of one code address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Rule(u64);

impl Rule {
    /// The rule of an address that nothing is known about.
    pub const UNKNOWN: Self = Self(Kind::Unknown as u64);

    /// A rule without offsets.
    pub const fn plain(kind: Kind) -> Self {
        Self(kind as u64)
    }

    /// A rule with offsets in bytes; `None` when they do not fit or are no multiple of 8.
    pub const fn new(kind: Kind, cfa: i64, rbp: RbpRule, slot: i64) -> Option<Self> {
        if cfa & 7 != 0 || slot & 7 != 0 || !fits(cfa >> 3, 26) || !fits(slot >> 3, 16) {
            return None;
        }
        let slot = ((slot >> 3) as u64 & 0xffff) << SLOT_SHIFT;
        Some(Self(((cfa >> 3) as u64) << CFA_SHIFT | slot | (rbp as u64) << RBP_SHIFT | kind as u64))
    }

    /// What [`Rule::new`] takes for the offset of [`Kind::Register`]: the number of the register, 0 to 15, lies below it.
    pub const fn register_offset(number: u64, offset: i64) -> Option<i64> {
        if number > 15 || offset & 7 != 0 || !fits(offset, 32) {
            return None;
        }
        Some(offset << 4 | (number << 3) as i64)
    }

    /// The register and the offset of [`Kind::Register`].
    pub const fn register_and_offset(self) -> (usize, i64) {
        let both = self.cfa_offset();
        ((both >> 3 & 15) as usize, both >> 7 << 3)
    }

    /// The same rule in this module.
    pub const fn in_module(self, module: u16) -> Self {
        Self(self.0 | (module as u64) << MODULE_SHIFT)
    }

    /// From the raw word.
    #[inline(always)]
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// The raw word.
    #[inline(always)]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// The module of the code.
    #[inline(always)]
    pub const fn module(self) -> u16 {
        (self.0 >> MODULE_SHIFT) as u16
    }

    /// Whether the CFA is rsp or rbp plus an offset, and rbp is kept or saved relative to it: nearly every frame.
    #[inline(always)]
    pub const fn is_simple(self) -> bool {
        (self.0 & KIND_MASK).wrapping_sub(1) < 2 && self.0 & (RbpRule::AtRbp as u64) << RBP_SHIFT == 0
    }

    /// Whether the CFA depends on rbp directly.
    #[inline(always)]
    pub const fn is_rbp_based(self) -> bool {
        self.0 & KIND_MASK == Kind::Rbp as u64
    }

    /// Whether the caller's rbp is saved relative to the CFA.
    #[inline(always)]
    pub const fn saves_rbp_at_cfa(self) -> bool {
        self.0 & (RbpRule::AtCfa as u64) << RBP_SHIFT != 0
    }

    /// Whether the caller's rbp is saved relative to this frame's rbp.
    #[inline(always)]
    pub const fn saves_rbp_at_rbp(self) -> bool {
        self.0 & (RbpRule::AtRbp as u64) << RBP_SHIFT != 0
    }

    /// The offset of the CFA in bytes.
    #[inline(always)]
    pub const fn cfa_offset(self) -> i64 {
        (self.0 as i64 >> CFA_SHIFT) << 3
    }

    /// The offset of the slot of rbp in bytes.
    #[inline(always)]
    pub const fn rbp_offset(self) -> i64 {
        ((self.0 >> SLOT_SHIFT) as i16 as i64) << 3
    }

    /// How the CFA is computed.
    pub const fn kind(self) -> Kind {
        match self.0 & KIND_MASK {
            1 => Kind::Rsp,
            2 => Kind::Rbp,
            3 => Kind::DerefRbp,
            4 => Kind::DerefRspPlus8,
            5 => Kind::Signal,
            6 => Kind::End,
            7 => Kind::Plt,
            8 => Kind::Register,
            _ => Kind::Unknown,
        }
    }
}

const fn fits(value: i64, bits: u32) -> bool {
    let half = 1i64 << (bits - 1);
    -half <= value && value < half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_reads_back() {
        for (cfa, slot) in [(8, -16), (0x1_0000, -24), (-8, 8), (200_000_000, -200_000)] {
            let rule = Rule::new(Kind::Rbp, cfa, RbpRule::AtCfa, slot).unwrap().in_module(0xabcd);
            assert_eq!((rule.cfa_offset(), rule.rbp_offset(), rule.module()), (cfa, slot, 0xabcd));
            assert!(rule.is_simple() && rule.is_rbp_based() && rule.saves_rbp_at_cfa());
        }
        for (number, offset) in [(0, 0), (10, 8), (11, 20_488), (15, -16)] {
            let both = Rule::register_offset(number, offset).unwrap();
            let rule = Rule::new(Kind::Register, both, RbpRule::AtCfa, -16).unwrap().in_module(7);
            assert_eq!((rule.register_and_offset(), rule.rbp_offset()), ((number as usize, offset), -16));
        }
        assert_eq!(Rule::register_offset(16, 8), None);
        assert_eq!(Rule::new(Kind::Rsp, 12, RbpRule::Same, 0), None);
        assert_eq!(Rule::new(Kind::Rsp, 1 << 40, RbpRule::Same, 0), None);
        assert!(!Rule::new(Kind::Rsp, 8, RbpRule::AtRbp, 0).unwrap().is_simple());
        assert!(!Rule::plain(Kind::End).is_simple());
    }
}
