//! Local variables of a function that runs: which one a word of its frame lies in.

use addr2line::gimli::{self, AttributeValue, Expression, Operation};

use super::entries::{Entries, Entry};
use super::sections::Slice;
use crate::symbols::unwind_table::FrameRegisters;

/// Blocks in blocks, at most.
const DEEPEST: usize = 32;

/// A function that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunningFrame {
    /// The instruction that it is at, as its file has it.
    pub(crate) at: u64,
    /// Where its frame ends.
    pub(crate) end: u64,
    /// What it finds its variables by.
    pub(crate) registers: FrameRegisters,
}

/// The variable of a function that an address lies in, and where that begins: the innermost one.
pub(super) fn variable_at(
    entries: &Entries<'_>,
    function: usize,
    frame: &RunningFrame,
    address: u64,
) -> Option<(usize, u64)> {
    let base = frame_base(entries, function, frame);
    let (mut scopes, mut found) = (vec![function], None);
    for _ in 0..DEEPEST {
        let mut inner = Vec::new();
        for child in scopes.iter().flat_map(|&scope| entries.children(scope)) {
            match child.tag() {
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    let start = location(entries, &child, frame, base);
                    let is_it = |start: &u64| is_in(entries, &child, *start, address);
                    found = start.filter(is_it).map(|start| (child.offset(), start)).or(found);
                }
                gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine
                    if entries.covers(&child, frame.at) =>
                {
                    inner.push(child.offset());
                }
                _ => {}
            }
        }
        scopes = inner;
    }
    found
}

fn is_in(entries: &Entries<'_>, variable: &Entry<'_>, start: u64, address: u64) -> bool {
    let size = entries.type_of(variable.offset()).and_then(|class| entries.size(class));
    size.is_some_and(|size| start <= address && address - start < size)
}

fn frame_base(entries: &Entries<'_>, function: usize, frame: &RunningFrame) -> Option<u64> {
    let function = entries.get(function)?;
    let AttributeValue::Exprloc(base) = function.value(gimli::DW_AT_frame_base)? else { return None };
    match only_operation(&function, base)? {
        Operation::CallFrameCFA => Some(frame.end),
        Operation::Register { register } => frame.registers.get(register.0),
        Operation::RegisterOffset { register, offset, .. } => {
            Some(frame.registers.get(register.0)?.wrapping_add_signed(offset))
        }
        _ => None,
    }
}

/// Where a variable lies in memory; `None` where it is in a register, or gone.
fn location<'a>(
    entries: &Entries<'a>,
    variable: &Entry<'a>,
    frame: &RunningFrame,
    base: Option<u64>,
) -> Option<u64> {
    let location = match variable.value(gimli::DW_AT_location)? {
        AttributeValue::Exprloc(location) => location,
        list => entries.location_at(variable, list, frame.at)?,
    };
    match only_operation(variable, location)? {
        Operation::FrameOffset { offset } => Some(base?.wrapping_add_signed(offset)),
        Operation::RegisterOffset { register, offset, .. } => {
            Some(frame.registers.get(register.0)?.wrapping_add_signed(offset))
        }
        _ => None,
    }
}

fn only_operation<'a>(of: &Entry<'a>, expression: Expression<Slice<'a>>) -> Option<Operation<Slice<'a>>> {
    let mut operations = expression.operations(of.encoding());
    let first = operations.next().ok()??;
    operations.next().ok()?.is_none().then_some(first)
}
