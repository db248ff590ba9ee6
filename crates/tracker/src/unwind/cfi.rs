//! From `.eh_frame` to a [`Rule`]: the search table of `.eh_frame_hdr`, one FDE with its CIE, and an interpreter of call
//! frame instructions that follows three things only: the CFA, rbp and the return address.
//!
//! It reads one loaded segment as bytes and checks every access, so a damaged table gives `None` and nothing worse. Only
//! cold code comes here: once per code address that appears on a stack.

use heaplens_format::Addr;

use super::reader::Reader;
use super::rule::{Kind, RbpRule, Rule};
use crate::modules::Segment;

const RBP: u64 = 6;
const RSP: u64 = 7;
const RETURN_ADDRESS: u64 = 16;

/// Depth of remember_state; compilers use one level.
const REMEMBERED: usize = 8;

/// The rule at an address, by the search table at `header`. `None`: not covered, or not understood.
pub fn rule_at(segment: Segment<'_>, header: Addr, pc: Addr) -> Option<Rule> {
    let (header, pc) = (header.get(), pc.get());
    let fde = find_fde(segment, header, pc)?;
    let fde = Fde::parse(segment, fde)?;
    if pc.wrapping_sub(fde.begin) >= fde.length {
        return None;
    }
    if fde.cie.is_signal_frame {
        return Some(Rule::plain(Kind::Signal));
    }
    let row = run(&fde, pc)?;
    row.rule()
}

/// Binary search in the table of `.eh_frame_hdr`; only the one form that all linkers write is known.
fn find_fde(segment: Segment<'_>, header: u64, pc: u64) -> Option<u64> {
    const SORTED_BY_HEADER_RELATIVE_I32: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
    let mut reader = Reader::at(segment, header)?;
    if reader.take(4)? != SORTED_BY_HEADER_RELATIVE_I32 {
        return None;
    }
    reader.i32()?;
    let count = reader.u32()? as usize;
    let table = reader.take(count.checked_mul(8)?)?;
    let relative = pc.wrapping_sub(header) as i64;
    let begin = |row: &[u8; 8]| i64::from(i32::from_le_bytes([row[0], row[1], row[2], row[3]]));
    let rows = table.as_chunks::<8>().0;
    let after = rows.partition_point(|row| begin(row) <= relative);
    let row = rows.get(after.checked_sub(1)?)?;
    let offset = i32::from_le_bytes([row[4], row[5], row[6], row[7]]);
    Some(header.wrapping_add(i64::from(offset) as u64))
}

/// What is common to many FDEs.
#[derive(Debug)]
struct Cie<'a> {
    code_alignment: u64,
    data_alignment: i64,
    pointer_encoding: u8,
    has_augmentation: bool,
    is_signal_frame: bool,
    instructions: Reader<'a>,
}

impl<'a> Cie<'a> {
    fn parse(segment: Segment<'a>, at: u64) -> Option<Self> {
        let mut reader = entry(segment, at)?;
        if reader.u32()? != 0 {
            return None;
        }
        let version = reader.u8()?;
        let augmentation = reader.c_string()?;
        let code_alignment = reader.uleb()?;
        let data_alignment = reader.sleb()?;
        let return_register = if version == 1 { u64::from(reader.u8()?) } else { reader.uleb()? };
        if !matches!(version, 1 | 3) || return_register != RETURN_ADDRESS {
            return None;
        }
        let mut cie = Self {
            code_alignment,
            data_alignment,
            pointer_encoding: 0,
            has_augmentation: augmentation.first() == Some(&b'z'),
            is_signal_frame: false,
            instructions: reader,
        };
        if cie.has_augmentation {
            cie.read_augmentation(&augmentation[1..])?;
        } else if !augmentation.is_empty() {
            return None;
        }
        Some(cie)
    }

    fn read_augmentation(&mut self, letters: &[u8]) -> Option<()> {
        let length = self.instructions.uleb()? as usize;
        let mut data = self.instructions.split(length)?;
        for letter in letters {
            match letter {
                b'R' => self.pointer_encoding = data.u8()?,
                b'S' => self.is_signal_frame = true,
                b'L' => drop(data.u8()?),
                b'P' => {
                    let encoding = data.u8()?;
                    data.encoded(encoding)?;
                }
                _ => {} // 'B' and unknown letters: their data is skipped by the length above
            }
        }
        Some(())
    }
}

/// The instructions of one function.
#[derive(Debug)]
struct Fde<'a> {
    cie: Cie<'a>,
    begin: u64,
    length: u64,
    instructions: Reader<'a>,
}

impl<'a> Fde<'a> {
    fn parse(segment: Segment<'a>, at: u64) -> Option<Self> {
        let mut reader = entry(segment, at)?;
        let here = reader.address();
        let back = u64::from(reader.u32()?);
        let cie = Cie::parse(segment, here.wrapping_sub(back))?;
        let begin = reader.encoded(cie.pointer_encoding)?;
        let length = reader.encoded(cie.pointer_encoding & 0x0f)?;
        if cie.has_augmentation {
            let skip = reader.uleb()? as usize;
            reader.split(skip)?;
        }
        Some(Self { cie, begin, length, instructions: reader })
    }
}

/// The contents of a CIE or FDE without its length word.
fn entry(segment: Segment<'_>, at: u64) -> Option<Reader<'_>> {
    let mut reader = Reader::at(segment, at)?;
    let length = reader.u32()?;
    if length == 0 || length == u32::MAX {
        return None; // the terminator, or the 64-bit form, which nobody writes
    }
    reader.split(length as usize)
}

#[derive(Clone, Copy, Debug)]
enum Cfa<'a> {
    Register { number: u64, offset: i64 },
    Expression(&'a [u8]),
}

#[derive(Clone, Copy, Debug)]
enum Saved<'a> {
    Same,
    Undefined,
    AtCfa(i64),
    Expression(&'a [u8]),
    Other,
}

/// What holds at one address.
#[derive(Clone, Copy, Debug)]
struct Row<'a> {
    cfa: Cfa<'a>,
    rbp: Saved<'a>,
    return_address: Saved<'a>,
}

impl<'a> Row<'a> {
    const START: Self =
        Self { cfa: Cfa::Expression(&[]), rbp: Saved::Same, return_address: Saved::Undefined };

    fn set(&mut self, register: u64, saved: Saved<'a>) {
        match register {
            RBP => self.rbp = saved,
            RETURN_ADDRESS => self.return_address = saved,
            _ => {}
        }
    }

    fn restore(&mut self, register: u64, initial: &Self) {
        match register {
            RBP => self.rbp = initial.rbp,
            RETURN_ADDRESS => self.return_address = initial.return_address,
            _ => {}
        }
    }

    fn rule(&self) -> Option<Rule> {
        match self.return_address {
            Saved::Undefined => return Some(Rule::plain(Kind::End)),
            Saved::AtCfa(-8) => {}
            _ => return None,
        }
        let (kind, cfa) = self.cfa_rule()?;
        let (rbp, slot) = match self.rbp {
            Saved::AtCfa(offset) => (RbpRule::AtCfa, offset),
            Saved::Same | Saved::Undefined => (RbpRule::Same, 0),
            Saved::Expression(bytes) => (RbpRule::AtRbp, rbp_plus(bytes)?),
            Saved::Other => return None,
        };
        Rule::new(kind, cfa, rbp, slot)
    }

    fn cfa_rule(&self) -> Option<(Kind, i64)> {
        match self.cfa {
            Cfa::Register { number: RSP, offset } => Some((Kind::Rsp, offset)),
            Cfa::Register { number: RBP, offset } => Some((Kind::Rbp, offset)),
            Cfa::Register { number, offset } => {
                Some((Kind::Register, Rule::register_offset(number, offset)?))
            }
            Cfa::Expression(bytes) => expression_rule(bytes),
        }
    }
}

const OP_DEREF: u8 = 0x06;
const OP_PLUS_UCONST: u8 = 0x23;
const OP_BREG_RBP: u8 = 0x70 + RBP as u8;
const OP_BREG_RSP: u8 = 0x70 + RSP as u8;

/// `rsp + 8 + ((rip & 15) >= N) << 3`: what linkers write for the stubs of the procedure linkage table, before and after
/// the constant N, which depends on the stub (11, or 9 with control-flow protection).
const PLT_BEFORE: [u8; 6] = [0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a];
const PLT_AFTER: [u8; 4] = [0x2a, 0x33, 0x24, 0x22];
const OP_LIT0: u8 = 0x30;

fn expression_rule(bytes: &[u8]) -> Option<(Kind, i64)> {
    if let Some(rest) = bytes.strip_prefix(&PLT_BEFORE)
        && let [literal @ OP_LIT0..=0x3f, after @ ..] = rest
        && *after == PLT_AFTER
    {
        return Some((Kind::Plt, i64::from(literal - OP_LIT0) << 3));
    }
    let (&register, rest) = bytes.split_first()?;
    let (offset, rest) = split_sleb(rest)?;
    match (register, rest) {
        (OP_BREG_RBP, [OP_DEREF]) => Some((Kind::DerefRbp, offset)),
        (OP_BREG_RSP, [OP_DEREF, OP_PLUS_UCONST, 8]) => Some((Kind::DerefRspPlus8, offset)),
        _ => None,
    }
}

fn rbp_plus(bytes: &[u8]) -> Option<i64> {
    let (&register, rest) = bytes.split_first()?;
    let (offset, rest) = split_sleb(rest)?;
    (register == OP_BREG_RBP && rest.is_empty()).then_some(offset)
}

fn split_sleb(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut reader = Reader { bytes, address: 0 };
    Some((reader.sleb()?, reader.bytes))
}

/// Runs the instructions of the CIE and then those of the FDE up to `pc`.
fn run<'a>(fde: &Fde<'a>, pc: u64) -> Option<Row<'a>> {
    let mut machine = Machine {
        row: Row::START,
        initial: Row::START,
        remembered: [Row::START; REMEMBERED],
        depth: 0,
        location: fde.begin,
    };
    machine.execute(&fde.cie, fde.cie.instructions, u64::MAX)?;
    if machine.location != fde.begin {
        return None; // the start of all its functions has no place to move to
    }
    machine.initial = machine.row;
    machine.execute(&fde.cie, fde.instructions, pc)?;
    Some(machine.row)
}

struct Machine<'a> {
    row: Row<'a>,
    initial: Row<'a>,
    remembered: [Row<'a>; REMEMBERED],
    depth: usize,
    location: u64,
}

impl<'a> Machine<'a> {
    /// Executes until the location moves past `pc` or the instructions end.
    fn execute(&mut self, cie: &Cie<'a>, mut code: Reader<'a>, pc: u64) -> Option<()> {
        while let Some(opcode) = code.u8() {
            let operand = u64::from(opcode & 0x3f);
            match opcode >> 6 {
                1 => {
                    if self.advance(operand, cie, pc) {
                        return Some(());
                    }
                }
                2 => {
                    let offset = (code.uleb()? as i64).wrapping_mul(cie.data_alignment);
                    self.row.set(operand, Saved::AtCfa(offset));
                }
                3 => self.row.restore(operand, &self.initial),
                _ => {
                    if self.extended(opcode, cie, &mut code, pc)? {
                        return Some(());
                    }
                }
            }
        }
        Some(())
    }

    /// Moves the location; `true` when the row for `pc` is complete.
    fn advance(&mut self, delta: u64, cie: &Cie<'_>, pc: u64) -> bool {
        let next = self.location.wrapping_add(delta.wrapping_mul(cie.code_alignment));
        if next > pc {
            return true;
        }
        self.location = next;
        false
    }

    /// One instruction with its operands outside the opcode; `Some(true)` when the row for `pc` is complete.
    fn extended(&mut self, opcode: u8, cie: &Cie<'a>, code: &mut Reader<'a>, pc: u64) -> Option<bool> {
        let align = cie.data_alignment;
        match opcode {
            0x00 => {} // nop
            0x01 => {
                let next = code.encoded(cie.pointer_encoding)?;
                if next > pc {
                    return Some(true);
                }
                self.location = next;
            }
            0x02 => return Some(self.advance(u64::from(code.u8()?), cie, pc)),
            0x03 => return Some(self.advance(u64::from(code.u16()?), cie, pc)),
            0x04 => return Some(self.advance(u64::from(code.u32()?), cie, pc)),
            0x05 => {
                let register = code.uleb()?;
                self.row.set(register, Saved::AtCfa((code.uleb()? as i64).wrapping_mul(align)));
            }
            0x06 => self.row.restore(code.uleb()?, &self.initial),
            0x07 => self.row.set(code.uleb()?, Saved::Undefined),
            0x08 => self.row.set(code.uleb()?, Saved::Same),
            0x09 => {
                let register = code.uleb()?;
                code.uleb()?;
                self.row.set(register, Saved::Other);
            }
            0x0a => {
                *self.remembered.get_mut(self.depth)? = self.row;
                self.depth += 1;
            }
            0x0b => {
                self.depth = self.depth.checked_sub(1)?;
                self.row = *self.remembered.get(self.depth)?;
            }
            0x0c => self.row.cfa = Cfa::Register { number: code.uleb()?, offset: code.uleb()? as i64 },
            0x0d => self.set_cfa_register(code.uleb()?)?,
            0x0e => self.set_cfa_offset(code.uleb()? as i64)?,
            0x0f => self.row.cfa = Cfa::Expression(code.block()?),
            0x10 => {
                let register = code.uleb()?;
                self.row.set(register, Saved::Expression(code.block()?));
            }
            0x11 => {
                let register = code.uleb()?;
                self.row.set(register, Saved::AtCfa(code.sleb()?.wrapping_mul(align)));
            }
            0x12 => {
                self.row.cfa =
                    Cfa::Register { number: code.uleb()?, offset: code.sleb()?.wrapping_mul(align) };
            }
            0x13 => self.set_cfa_offset(code.sleb()?.wrapping_mul(align))?,
            0x14 | 0x15 => {
                let register = code.uleb()?;
                code.uleb()?;
                self.row.set(register, Saved::Other);
            }
            0x16 => {
                let register = code.uleb()?;
                code.block()?;
                self.row.set(register, Saved::Other);
            }
            0x2e => drop(code.uleb()?), // GNU_args_size
            _ => return None,
        }
        Some(false)
    }

    fn set_cfa_register(&mut self, register: u64) -> Option<()> {
        let Cfa::Register { number, .. } = &mut self.row.cfa else { return None };
        *number = register;
        Some(())
    }

    fn set_cfa_offset(&mut self, value: i64) -> Option<()> {
        let Cfa::Register { offset, .. } = &mut self.row.cfa else { return None };
        *offset = value;
        Some(())
    }
}

#[cfg(test)]
#[path = "cfi_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "cfi_damage_tests.rs"]
mod damage_tests;
