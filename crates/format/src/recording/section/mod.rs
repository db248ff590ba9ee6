//! The payload of each section, its writer beside its reader. A reader fills the model row by row and stops at the
//! first thing that makes no sense; what it read before stays. Rules that need two sections are checked later.

pub(super) mod codes;
pub(super) mod counters;
pub(super) mod errors;
pub(super) mod heap;
pub(super) mod identity;
pub(super) mod leaks;
pub(super) mod ledger;
pub(super) mod losses;
pub(super) mod marks;
pub(super) mod modules;
pub(super) mod run;
pub(super) mod sections;
pub(super) mod sites;
pub(super) mod stacks;
mod strings;
pub(super) mod symbols;
pub(super) mod threads;
pub(super) mod timeline;

use super::amount::Amount;
use super::damage::{PayloadFault, Violation};
use super::model::Exit;
use super::wire::{Reader, Writer};
use crate::units::{Bytes, Nanos};

/// What a reader returns.
pub(super) type Outcome = Result<(), PayloadFault>;

/// Rows that had to be changed or left out, counted by the rule they broke.
#[derive(Default)]
pub(super) struct Tally(alloc::vec::Vec<(Violation, u64)>);

impl Tally {
    pub(super) fn add(&mut self, violation: Violation) {
        match self.0.iter_mut().find(|(known, _)| *known == violation) {
            Some((_, count)) => *count += 1,
            None => self.0.push((violation, 1)),
        }
    }

    pub(super) fn into_counts(self) -> impl Iterator<Item = (Violation, u64)> {
        self.0.into_iter()
    }
}

fn write_amount(amount: Amount, to: &mut Writer) {
    to.number(amount.bytes.get());
    to.number(amount.blocks);
}

fn read_amount(from: &mut Reader<'_>) -> Result<Amount, PayloadFault> {
    Ok(Amount { bytes: Bytes::new(from.number()?), blocks: from.number()? })
}

fn read_nanos(from: &mut Reader<'_>) -> Result<Nanos, PayloadFault> {
    from.number().map(Nanos::new)
}

fn write_exit(exit: Exit, to: &mut Writer) {
    match exit {
        Exit::Code(code) => {
            to.number(1);
            to.signed(code.into());
        }
        Exit::Signal(signal) => {
            to.number(2);
            to.signed(signal.into());
        }
    }
}

/// Reads what [`write_exit`] wrote, its tag already taken.
fn read_exit(tag: u64, from: &mut Reader<'_>) -> Result<Exit, PayloadFault> {
    let value = i32::try_from(from.signed()?).map_err(|_| PayloadFault::NumberTooLarge)?;
    match tag {
        1 => Ok(Exit::Code(value)),
        2 => Ok(Exit::Signal(value)),
        _ => Err(PayloadFault::UnknownTag(tag)),
    }
}
