//! ```text
//!   0: no check │ 1, reason text: the check was not possible
//!   2, rows: kind │ site │ bytes │ blocks │ bytes lost with them │ blocks lost with them
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use super::{Outcome, read_amount, write_amount};
use crate::recording::damage::PayloadFault;
use crate::recording::leaks::{LeakCheck, LeakKind, LostSite};
use crate::recording::wire::{Reader, Writer};

pub(crate) fn write(check: Option<&LeakCheck>, to: &mut Writer) {
    match check {
        None => to.number(0),
        Some(LeakCheck::NotDone(reason)) => {
            to.number(1);
            to.text(reason);
        }
        Some(LeakCheck::Done(sites)) => {
            to.number(2);
            to.count(sites.len());
            sites.iter().for_each(|site| write_one(site, to));
        }
    }
}

fn write_one(lost: &LostSite, to: &mut Writer) {
    to.number(lost.kind as u64);
    to.number(lost.site.into());
    write_amount(lost.direct, to);
    write_amount(lost.indirect, to);
}

pub(crate) fn read(check: &mut Option<LeakCheck>, from: &mut Reader<'_>) -> Outcome {
    match from.number()? {
        0 => {}
        1 => *check = Some(LeakCheck::NotDone(String::from(from.text()?))),
        2 => {
            let mut sites = Vec::new();
            let outcome = from.rows(6, &mut sites, read_one);
            // What was read before a fault is as true as without it.
            *check = Some(LeakCheck::Done(sites));
            return outcome;
        }
        tag => return Err(PayloadFault::UnknownTag(tag)),
    }
    Ok(())
}

fn read_one(from: &mut Reader<'_>) -> Result<LostSite, PayloadFault> {
    let kind = from.number()?;
    Ok(LostSite {
        kind: LeakKind::from_number(kind).ok_or(PayloadFault::UnknownTag(kind))?,
        site: from.small()?,
        direct: read_amount(from)?,
        indirect: read_amount(from)?,
    })
}
