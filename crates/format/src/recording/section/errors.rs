//! ```text
//!   rows: kind │ function │ stack │ allocated + 1, or 0 │ freed + 1, or 0 │ address │ access │ count │ extra
//!         0: no block │ 1, start │ size │ family
//!   where there were any: blocks with guard pages                       (since format 2.14)
//! ```

use super::Outcome;
use crate::memory::Family;
use crate::recording::damage::PayloadFault;
use crate::recording::errors::{CalledFunction, ErrorBlock, ErrorKind, MemoryError};
use crate::recording::model::Process;
use crate::recording::wire::{Reader, Writer};
use crate::units::{Addr, Bytes, NodeId};

/// The least bytes of a row.
const LEAST: usize = 10;

pub(crate) fn write(process: &Process, to: &mut Writer) {
    to.count(process.errors.len());
    process.errors.iter().for_each(|error| write_one(error, to));
    if process.guarded_blocks > 0 {
        to.number(process.guarded_blocks);
    }
}

fn write_one(error: &MemoryError, to: &mut Writer) {
    to.number(error.kind as u64);
    to.number(error.function.number().into());
    to.number(error.stack.get().into());
    for node in [error.allocated, error.freed] {
        to.number(node.map_or(0, |node| u64::from(node.get()) + 1));
    }
    to.number(error.address.get());
    to.number(error.access.get());
    to.number(error.count);
    to.number(error.extra);
    let Some(block) = error.block else { return to.number(0) };
    to.number(1);
    to.number(block.start.get());
    to.number(block.size.get());
    to.number(block.family as u64);
}

pub(crate) fn read(process: &mut Process, from: &mut Reader<'_>) -> Outcome {
    from.rows(LEAST, &mut process.errors, read_one)?;
    if from.left() > 0 {
        process.guarded_blocks = from.number()?;
    }
    Ok(())
}

fn read_one(from: &mut Reader<'_>) -> Result<MemoryError, PayloadFault> {
    let kind = from.number()?;
    Ok(MemoryError {
        kind: ErrorKind::from_number(kind).ok_or(PayloadFault::UnknownTag(kind))?,
        function: CalledFunction::new(from.small()?),
        stack: NodeId::new(from.small()?),
        allocated: read_node(from)?,
        freed: read_node(from)?,
        address: Addr::new(from.number()?),
        access: Bytes::new(from.number()?),
        count: from.number()?,
        extra: from.number()?,
        block: read_block(from)?,
    })
}

fn read_node(from: &mut Reader<'_>) -> Result<Option<NodeId>, PayloadFault> {
    let number = from.number()?;
    let node = number.checked_sub(1).map(u32::try_from).transpose();
    node.map(|node| node.map(NodeId::new)).map_err(|_| PayloadFault::NumberTooLarge)
}

fn read_block(from: &mut Reader<'_>) -> Result<Option<ErrorBlock>, PayloadFault> {
    match from.number()? {
        0 => Ok(None),
        1 => {
            let (start, size, family) = (from.number()?, from.number()?, from.number()?);
            let family = Family::from_number(family).ok_or(PayloadFault::UnknownTag(family))?;
            Ok(Some(ErrorBlock { start: Addr::new(start), size: Bytes::new(size), family }))
        }
        tag => Err(PayloadFault::UnknownTag(tag)),
    }
}
