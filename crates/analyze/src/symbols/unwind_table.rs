//! The way from a function to its caller, by the table that exceptions are unwound with (`.eh_frame`). Nearly every file has one.

use std::path::Path;

use addr2line::gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, LittleEndian, Register, RegisterRule, UnwindContext,
    UnwindSection,
};
use object::{Object, ObjectSection};

use super::headers::open_cache;

/// Registers of x86-64 as DWARF numbers them; the last one is the return address.
const COUNT: usize = 17;
pub(crate) const FRAME_POINTER: u16 = 6;
pub(crate) const STACK_POINTER: u16 = 7;
const RETURN_ADDRESS: u16 = 16;

/// What registers hold in a function, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameRegisters([Option<u64>; COUNT]);

impl FrameRegisters {
    pub(crate) fn get(&self, register: u16) -> Option<u64> {
        *self.0.get(usize::from(register))?
    }

    pub(crate) fn set(&mut self, register: u16, value: Option<u64>) {
        if let Some(entry) = self.0.get_mut(usize::from(register)) {
            *entry = value;
        }
    }

    /// The next instruction.
    pub(crate) fn instruction(&self) -> Option<u64> {
        self.get(RETURN_ADDRESS)
    }

    pub(crate) fn set_instruction(&mut self, address: u64) {
        self.set(RETURN_ADDRESS, Some(address));
    }
}

/// The table of one file.
pub(crate) struct UnwindTable {
    frame: Section,
    header: Section,
}

struct Section {
    bytes: Vec<u8>,
    address: u64,
}

impl UnwindTable {
    /// `None` where the file has none, or no index of it.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let cache = open_cache(path)?;
        let file = object::File::parse(&cache).ok()?;
        let section = |name: &str| {
            let section = file.section_by_name(name)?;
            Some(Section { bytes: section.data().ok()?.to_vec(), address: section.address() })
        };
        Some(Self { frame: section(".eh_frame")?, header: section(".eh_frame_hdr")? })
    }

    /// The registers of the caller of a function, which is at an instruction of the file; where its frame ends is the caller's stack
    /// pointer. `memory` reads a word of the stack.
    pub(crate) fn caller(
        &self,
        at: u64,
        registers: &FrameRegisters,
        memory: impl Fn(u64) -> Option<u64>,
    ) -> Option<FrameRegisters> {
        let bases = BaseAddresses::default().set_eh_frame(self.frame.address);
        let bases = bases.set_eh_frame_hdr(self.header.address);
        let mut frame = EhFrame::new(&self.frame.bytes, LittleEndian);
        frame.set_address_size(8);
        let header = EhFrameHdr::new(&self.header.bytes, LittleEndian).parse(&bases, 8).ok()?;
        let mut context = UnwindContext::new();
        let table = header.table()?;
        let row =
            table.unwind_info_for_address(&frame, &bases, &mut context, at, EhFrame::cie_from_offset).ok()?;
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
        let end = registers.get(register.0)?.wrapping_add_signed(*offset);
        let mut caller = FrameRegisters::default();
        for number in 0..COUNT as u16 {
            let value = match row.register(Register(number)) {
                Some(RegisterRule::Offset(offset)) => memory(end.wrapping_add_signed(offset)),
                Some(RegisterRule::ValOffset(offset)) => Some(end.wrapping_add_signed(offset)),
                Some(RegisterRule::Register(other)) => registers.get(other.0),
                Some(RegisterRule::SameValue) | None => registers.get(number),
                Some(_) => None,
            };
            caller.set(number, value);
        }
        // Of the outermost function it is undefined.
        let is_saved = matches!(row.register(Register(RETURN_ADDRESS)), Some(RegisterRule::Offset(_)));
        caller.set(RETURN_ADDRESS, caller.instruction().filter(|_| is_saved));
        caller.set(STACK_POINTER, Some(end));
        Some(caller)
    }
}
