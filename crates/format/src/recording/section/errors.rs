//! ```text
//!   rows: kind │ function │ stack │ allocated + 1, or 0 │ freed + 1, or 0 │ address │ access │ count │ extra
//!         0: no block │ 1, start │ size │ family
//!   where there were any of these or of what follows: blocks with guard pages                       (since format 2.14)
//!   where there were any: moments of the errors, in their order; checks of the canaries             (since format 2.16)
//!         a check: at │ blocks │ damaged: site │ changed │ start │ size │ family
//! ```

use alloc::vec::Vec;

use super::Outcome;
use crate::memory::Family;
use crate::recording::damage::PayloadFault;
use crate::recording::errors::{
    CalledFunction, CanaryCheck, DamagedBlock, ErrorBlock, ErrorKind, MemoryError,
};
use crate::recording::model::Process;
use crate::recording::wire::{Reader, Writer};
use crate::units::{Addr, Bytes, Nanos, NodeId};

/// The least bytes of a row.
const LEAST: usize = 10;
/// The same of a check, and of a block that it found to be damaged.
const LEAST_OF_CHECK: usize = 3;
const LEAST_OF_DAMAGED: usize = 5;

pub(crate) fn write(process: &Process, to: &mut Writer) {
    to.count(process.errors.len());
    process.errors.iter().for_each(|error| write_one(error, to));
    let has_times = !process.errors.is_empty() || !process.canary_checks.is_empty();
    if process.guarded_blocks > 0 || has_times {
        to.number(process.guarded_blocks);
    }
    if has_times {
        process.errors.iter().for_each(|error| to.number(error.at.get()));
        to.count(process.canary_checks.len());
        process.canary_checks.iter().for_each(|check| write_check(check, to));
    }
}

fn write_check(check: &CanaryCheck, to: &mut Writer) {
    to.number(check.at.get());
    to.number(check.blocks);
    to.count(check.damaged.len());
    for damaged in &check.damaged {
        to.number(damaged.site.into());
        to.number(damaged.changed.get());
        write_block(damaged.block, to);
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
    write_block(block, to);
}

fn write_block(block: ErrorBlock, to: &mut Writer) {
    to.number(block.start.get());
    to.number(block.size.get());
    to.number(block.family as u64);
}

pub(crate) fn read(process: &mut Process, from: &mut Reader<'_>) -> Outcome {
    from.rows(LEAST, &mut process.errors, read_one)?;
    if from.left() > 0 {
        process.guarded_blocks = from.number()?;
    }
    if from.left() > 0 {
        process.errors.iter_mut().try_for_each(|error| from.number().map(|at| error.at = Nanos::new(at)))?;
        from.rows(LEAST_OF_CHECK, &mut process.canary_checks, read_check)?;
    }
    Ok(())
}

fn read_check(from: &mut Reader<'_>) -> Result<CanaryCheck, PayloadFault> {
    let (at, blocks) = (Nanos::new(from.number()?), from.number()?);
    let mut check = CanaryCheck { at, blocks, damaged: Vec::new() };
    from.rows(LEAST_OF_DAMAGED, &mut check.damaged, |from| {
        Ok(DamagedBlock { site: from.small()?, changed: Addr::new(from.number()?), block: read_block(from)? })
    })?;
    Ok(check)
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
        block: read_block_of_error(from)?,
        at: Nanos::default(),
    })
}

fn read_node(from: &mut Reader<'_>) -> Result<Option<NodeId>, PayloadFault> {
    let number = from.number()?;
    let node = number.checked_sub(1).map(u32::try_from).transpose();
    node.map(|node| node.map(NodeId::new)).map_err(|_| PayloadFault::NumberTooLarge)
}

fn read_block_of_error(from: &mut Reader<'_>) -> Result<Option<ErrorBlock>, PayloadFault> {
    match from.number()? {
        0 => Ok(None),
        1 => read_block(from).map(Some),
        tag => Err(PayloadFault::UnknownTag(tag)),
    }
}

fn read_block(from: &mut Reader<'_>) -> Result<ErrorBlock, PayloadFault> {
    let (start, size, family) = (from.number()?, from.number()?, from.number()?);
    let family = Family::from_number(family).ok_or(PayloadFault::UnknownTag(family))?;
    Ok(ErrorBlock { start: Addr::new(start), size: Bytes::new(size), family })
}
