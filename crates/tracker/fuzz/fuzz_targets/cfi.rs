//! Any bytes as unwind tables: an answer, and where gimli reads the same bytes, no other than gimli's.
//!
//! ```text
//!   input   pc u16 │ fde u16 │ .eh_frame
//! ```
#![no_main]

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameOffset, EndianSlice, FrameDescriptionEntry, LittleEndian,
    Operation, RegisterRule, UnwindContext, UnwindExpression, UnwindSection, UnwindTableRow,
};
use heaplens_format::Addr;
use heaplens_tracker::modules::Segment;
use heaplens_tracker::unwind::cfi::rule_at;
use heaplens_tracker::unwind::rule::{Kind, RbpRule, Rule};
use libfuzzer_sys::fuzz_target;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Where the tables seem to be loaded.
const START: Addr = Addr::new(0x5555_0000_0000);
/// Length of a `.eh_frame_hdr` with one row.
const HEADER: usize = 20;

fuzz_target!(|bytes: &[u8]| {
    let Some((&[pc, pc_high, fde, fde_high], frames)) = bytes.split_first_chunk() else { return };
    let (pc, fde) = (u16::from_le_bytes([pc, pc_high]), u16::from_le_bytes([fde, fde_high]));
    // The bytes as a header and all that follows it.
    let near = Addr::new(START.get().wrapping_add_signed((pc as i16).into()));
    rule_at(Segment { bytes: frames, start: START }, START, near);
    // The bytes as entries, after a sound header that leads to one of them.
    let mut memory = header(fde).to_vec();
    memory.extend(frames);
    compare(&memory, pc, fde);
});

fn header(fde: u16) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&[1, 0x1b, 0x03, 0x3b]);
    header[8] = 1;
    header[12..16].copy_from_slice(&i32::MIN.to_le_bytes());
    header[16..].copy_from_slice(&(HEADER as u32 + u32::from(fde)).to_le_bytes());
    header
}

fn compare(memory: &[u8], pc: u16, fde: u16) {
    let segment = Segment { bytes: memory, start: START };
    let mut frames = EhFrame::new(&memory[HEADER..], LittleEndian);
    frames.set_address_size(8);
    let bases = BaseAddresses::default().set_eh_frame(START.get() + HEADER as u64);
    let offset = EhFrameOffset(fde.into());
    let Ok(entry) = frames.fde_from_offset(&bases, offset, EhFrame::cie_from_offset) else {
        rule_at(segment, START, Addr::new(START.get() + u64::from(pc)));
        return;
    };
    let pc = entry.initial_address().wrapping_add(u64::from(pc) % entry.len().max(1));
    if let Some(ours) = rule_at(segment, START, Addr::new(pc))
        && let Some(theirs) = rule_of_entry(&frames, &bases, &entry, pc)
    {
        assert_eq!(Some(ours), theirs, "at {pc:#x}");
    }
}

/// What gimli says; `None` where it gives no row, `Some(None)` where the row is none of our kinds.
fn rule_of_entry(
    frames: &EhFrame<Bytes<'_>>,
    bases: &BaseAddresses,
    entry: &FrameDescriptionEntry<Bytes<'_>>,
    pc: u64,
) -> Option<Option<Rule>> {
    let mut context = UnwindContext::new();
    let row = entry.unwind_info_for_address(frames, bases, &mut context, pc).ok()?;
    let is_signal = entry.is_signal_trampoline();
    Some(if is_signal { Some(Rule::plain(Kind::Signal)) } else { rule_of_row(row, frames) })
}

fn rule_of_row(row: &UnwindTableRow<usize>, frames: &EhFrame<Bytes<'_>>) -> Option<Rule> {
    match row.register(gimli::X86_64::RA) {
        None | Some(RegisterRule::Undefined) => return Some(Rule::plain(Kind::End)),
        Some(RegisterRule::Offset(-8)) => {}
        _ => return None,
    }
    let (kind, cfa) = match row.cfa() {
        CfaRule::RegisterAndOffset { register: gimli::X86_64::RSP, offset } => (Kind::Rsp, *offset),
        CfaRule::RegisterAndOffset { register: gimli::X86_64::RBP, offset } => (Kind::Rbp, *offset),
        CfaRule::RegisterAndOffset { register, offset } => {
            (Kind::Register, Rule::register_offset(register.0.into(), *offset)?)
        }
        CfaRule::Expression(expression) => cfa_of(&operations(expression, frames)?)?,
    };
    let (rbp, slot) = match row.register(gimli::X86_64::RBP) {
        Some(RegisterRule::Offset(offset)) => (RbpRule::AtCfa, offset),
        None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => (RbpRule::Same, 0),
        Some(RegisterRule::Expression(expression)) => match operations(&expression, frames)?[..] {
            [Operation::RegisterOffset { register: gimli::X86_64::RBP, offset, .. }] => {
                (RbpRule::AtRbp, offset)
            }
            _ => return None,
        },
        _ => return None,
    };
    Rule::new(kind, cfa, rbp, slot)
}

fn operations<'a>(
    expression: &UnwindExpression<usize>,
    frames: &EhFrame<Bytes<'a>>,
) -> Option<Vec<Operation<Bytes<'a>>>> {
    const EIGHT_BYTES: gimli::Encoding =
        gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 1 };
    let mut found = Vec::new();
    let mut operations = expression.get(frames).ok()?.operations(EIGHT_BYTES);
    while let Some(operation) = operations.next().ok()? {
        found.push(operation);
    }
    Some(found)
}

/// The expressions that we know, read by gimli.
fn cfa_of(operations: &[Operation<Bytes<'_>>]) -> Option<(Kind, i64)> {
    use Operation::{And, Deref, Ge, Plus, PlusConstant, RegisterOffset, Shl, UnsignedConstant};
    const RA: gimli::Register = gimli::X86_64::RA;
    const RBP: gimli::Register = gimli::X86_64::RBP;
    const RSP: gimli::Register = gimli::X86_64::RSP;
    match *operations {
        [RegisterOffset { register: RBP, offset, .. }, Deref { size: 8, space: false, .. }] => {
            Some((Kind::DerefRbp, offset))
        }
        [
            RegisterOffset { register: RSP, offset, .. },
            Deref { size: 8, space: false, .. },
            PlusConstant { value: 8 },
        ] => Some((Kind::DerefRspPlus8, offset)),
        [
            RegisterOffset { register: RSP, offset: 8, .. },
            RegisterOffset { register: RA, offset: 0, .. },
            UnsignedConstant { value: 15 },
            And,
            UnsignedConstant { value },
            Ge,
            UnsignedConstant { value: 3 },
            Shl,
            Plus,
        ] => Some((Kind::Plt, (value as i64) << 3)),
        _ => None,
    }
}
