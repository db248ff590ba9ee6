//! From an instruction of a Python code object to its line, by the tables that the interpreters keep. Nothing is trusted:
//! a table of any bytes gives a line or 0, and each step takes at least one byte of it.
//!
//! ```text
//!   3.8, 3.9  co_lnotab      (bytes u8 │ lines i8)*                          the line changes after so many bytes
//!   3.10      co_linetable   (bytes u8 │ lines i8, -128: no line)*           the next so many bytes are of this line
//!   3.11 …    co_linetable   (1 │ kind:4 │ units − 1:3, then by kind)*       the next so many units are of this line
//! ```
//!
//! The last one is described in CPython's `Objects/locations.md`; here only the line is wanted. Bytes of an entry
//! after its first have the top bit clear, so the next entry is always found.

/// How an interpreter writes lines down. Instructions are counted in units of two bytes in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LineTable {
    /// 3.8 and 3.9: `co_lnotab`.
    Deltas = 1,
    /// 3.10: `co_linetable` of PEP 626.
    Ranges = 2,
    /// 3.11 and later: `co_linetable` of PEP 657.
    Locations = 3,
}

impl LineTable {
    /// From the number.
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Deltas),
            2 => Some(Self::Ranges),
            3 => Some(Self::Locations),
            _ => None,
        }
    }
}

/// What a code object says about lines.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// How the table is written.
    pub kind: LineTable,
    /// The table.
    pub table: &'a [u8],
    /// The line of the `def`.
    pub first_line: u32,
}

impl Lines<'_> {
    /// The line of an instruction, counted in units of two bytes; 0 where there is none.
    pub fn at(&self, instruction: u32) -> u32 {
        let line = match self.kind {
            LineTable::Deltas => Some(self.by_deltas(2 * u64::from(instruction))),
            LineTable::Ranges => self.by_ranges(2 * u64::from(instruction)),
            LineTable::Locations => self.by_locations(u64::from(instruction)),
        };
        line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0)
    }

    fn by_deltas(&self, wanted: u64) -> i64 {
        let (mut line, mut at) = (i64::from(self.first_line), 0);
        for pair in self.table.chunks_exact(2) {
            at += u64::from(pair[0]);
            if at > wanted {
                break;
            }
            line += i64::from(pair[1] as i8);
        }
        line
    }

    fn by_ranges(&self, wanted: u64) -> Option<i64> {
        const NO_LINE: i8 = -128;
        let (mut line, mut end) = (i64::from(self.first_line), 0);
        for pair in self.table.chunks_exact(2) {
            let lines = pair[1] as i8;
            if lines != NO_LINE {
                line += i64::from(lines);
            }
            end += u64::from(pair[0]);
            if wanted < end {
                return (lines != NO_LINE).then_some(line);
            }
        }
        None
    }

    fn by_locations(&self, wanted: u64) -> Option<i64> {
        let (mut line, mut end) = (i64::from(self.first_line), 0);
        let mut rest = self.table;
        while let [first, following @ ..] = rest {
            let length = following.iter().take_while(|&&byte| byte & 0x80 == 0).count();
            let lines = line_delta(first >> 3 & 0xf, &following[..length]);
            line = line.wrapping_add(lines.unwrap_or(0));
            end += u64::from(first & 7) + 1;
            if wanted < end {
                return lines.map(|_| line);
            }
            rest = &following[length..];
        }
        None
    }
}

/// By how many lines an entry lies after the one before; `None` where it has no line.
fn line_delta(kind: u8, following: &[u8]) -> Option<i64> {
    match kind {
        0..=9 => Some(0),
        10..=12 => Some(i64::from(kind) - 10),
        13 | 14 => Some(signed(following)),
        _ => None,
    }
}

/// A number of six bits a byte, least first, bit 6 says that more follow; its lowest bit is the sign.
fn signed(bytes: &[u8]) -> i64 {
    let mut value = 0u32;
    for (at, byte) in (0..).zip(bytes) {
        value |= u32::from(byte & 0x3f).checked_shl(6 * at).unwrap_or(0);
        if byte & 0x40 == 0 {
            break;
        }
    }
    let size = i64::from(value >> 1);
    if value & 1 == 0 { size } else { -size }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
