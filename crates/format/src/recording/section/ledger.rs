//! ```text
//!   rows: ns since the ledger before, signed │ moment │ ns it took │ resident bytes │ proportional │ unique │ estimated 0/1
//!         (line │ bytes)* │ (line │ name text │ site + 1, or 0 │ bytes)*
//!   where there are others than the host's: rows: kind of space │ which of its kind │ source text │ rows as above
//!                                                                                             (since format 2.8)
//! ```
//!
//! Lines without bytes are not written. Bytes of a line that is not known here are unexplained.

use alloc::string::String;
use alloc::vec::Vec;

use super::Outcome;
use crate::memory::{Line, Space, SpaceKind};
use crate::recording::damage::PayloadFault;
use crate::recording::ledger::{Ledger, LedgerMapping, LedgerMoment, LineBytes, SpaceLedgers};
use crate::recording::wire::{Reader, Writer};
use crate::units::{Bytes, Nanos};

pub(crate) fn write(ledgers: &[Ledger], spaces: &[SpaceLedgers], to: &mut Writer) {
    write_all(ledgers, to);
    if !spaces.is_empty() {
        to.count(spaces.len());
        spaces.iter().for_each(|space| write_space(space, to));
    }
}

fn write_space(space: &SpaceLedgers, to: &mut Writer) {
    to.number(space.space.kind.number().into());
    to.number(space.space.index.into());
    to.text(&space.source);
    write_all(&space.ledgers, to);
}

fn write_all(ledgers: &[Ledger], to: &mut Writer) {
    to.count(ledgers.len());
    let mut before = 0u64;
    for ledger in ledgers {
        to.signed(ledger.at.get().wrapping_sub(before) as i64);
        before = ledger.at.get();
        write_one(ledger, to);
    }
}

fn write_one(ledger: &Ledger, to: &mut Writer) {
    to.number(ledger.moment as u64);
    for value in [ledger.took.get(), ledger.rss.get(), ledger.pss.get(), ledger.uss.get()] {
        to.number(value);
    }
    to.number(ledger.is_estimated.into());
    to.count(ledger.lines.iter().len());
    for (line, bytes) in ledger.lines.iter() {
        to.number(line.number().into());
        to.number(bytes.get());
    }
    to.count(ledger.mappings.len());
    for mapping in &ledger.mappings {
        to.number(mapping.line.number().into());
        to.text(&mapping.name);
        to.number(mapping.site.map_or(0, |site| u64::from(site) + 1));
        to.number(mapping.bytes.get());
    }
}

pub(crate) fn read(
    ledgers: &mut Vec<Ledger>,
    spaces: &mut Vec<SpaceLedgers>,
    from: &mut Reader<'_>,
) -> Outcome {
    read_all(ledgers, from)?;
    // Format 2.7 ends here.
    if from.left() > 0 { from.rows(4, spaces, read_space) } else { Ok(()) }
}

fn read_space(from: &mut Reader<'_>) -> Result<SpaceLedgers, PayloadFault> {
    let space = Space { kind: SpaceKind::new(from.small()?), index: from.small()? };
    let mut read = SpaceLedgers { space, source: String::from(from.text()?), ledgers: Vec::new() };
    read_all(&mut read.ledgers, from)?;
    Ok(read)
}

fn read_all(ledgers: &mut Vec<Ledger>, from: &mut Reader<'_>) -> Outcome {
    let mut at = 0u64;
    from.rows(9, ledgers, |from| {
        at = at.wrapping_add(from.signed()? as u64);
        read_one(Nanos::new(at), from)
    })
}

fn read_one(at: Nanos, from: &mut Reader<'_>) -> Result<Ledger, PayloadFault> {
    let moment = from.number()?;
    let mut ledger = Ledger {
        at,
        moment: LedgerMoment::from_number(moment).ok_or(PayloadFault::UnknownTag(moment))?,
        took: Nanos::new(from.number()?),
        rss: Bytes::new(from.number()?),
        pss: Bytes::new(from.number()?),
        uss: Bytes::new(from.number()?),
        is_estimated: from.number()? != 0,
        lines: LineBytes::default(),
        mappings: Vec::new(),
    };
    for _ in 0..from.number()? {
        let line = Line::from_number(from.number()?);
        ledger.lines.add(line, Bytes::new(from.number()?));
    }
    from.rows(4, &mut ledger.mappings, read_mapping)?;
    Ok(ledger)
}

fn read_mapping(from: &mut Reader<'_>) -> Result<LedgerMapping, PayloadFault> {
    Ok(LedgerMapping {
        line: Line::from_number(from.number()?),
        name: String::from(from.text()?),
        site: from.small::<u32>()?.checked_sub(1),
        bytes: Bytes::new(from.number()?),
    })
}
