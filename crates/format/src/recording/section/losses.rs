//! ```text
//!   rows: number of the loss │ count
//! ```

use alloc::vec::Vec;

use super::{Outcome, Tally};
use crate::loss::Loss;
use crate::recording::damage::Violation;
use crate::recording::wire::{Reader, Writer};

pub(crate) fn write(losses: &[(Loss, u64)], to: &mut Writer) {
    to.count(losses.len());
    for &(loss, count) in losses {
        to.number(loss as u64);
        to.number(count);
    }
}

pub(crate) fn read(losses: &mut Vec<(Loss, u64)>, tally: &mut Tally, from: &mut Reader<'_>) -> Outcome {
    let mut rows = Vec::new();
    let outcome = from.rows(2, &mut rows, |from| Ok((from.number()?, from.number()?)));
    for (number, count) in rows {
        match u8::try_from(number).ok().and_then(Loss::from_number) {
            Some(loss) => losses.push((loss, count)),
            None => tally.add(Violation::UnknownLoss),
        }
    }
    outcome
}
