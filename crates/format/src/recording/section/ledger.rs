//! ```text
//!   rows: ns since the ledger before, signed │ moment │ ns it took │ resident bytes │ proportional │ unique │ estimated 0/1
//!         (line │ bytes)* │ (line │ name text │ site + 1, or 0 │ bytes)*
//! ```
//!
//! Lines without bytes are not written. Bytes of a line that is not known here are unexplained.

use alloc::string::String;
use alloc::vec::Vec;

use super::Outcome;
use crate::recording::damage::PayloadFault;
use crate::recording::ledger::{Ledger, LedgerMapping, LedgerMoment, Line, LineBytes};
use crate::recording::wire::{Reader, Writer};
use crate::units::{Bytes, Nanos};

pub(crate) fn write(ledgers: &[Ledger], to: &mut Writer) {
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

pub(crate) fn read(ledgers: &mut Vec<Ledger>, from: &mut Reader<'_>) -> Outcome {
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
