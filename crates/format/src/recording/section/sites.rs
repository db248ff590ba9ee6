//! ```text
//!   rows: node │ kind: 0 heap, 1 anonymous mapping, 2 mapped file, 3 break, 4 Python object, 5 Python block
//!         bytes │ blocks, live at the end    bytes │ blocks, at the peak    bytes │ blocks, allocated
//! ```

use alloc::vec::Vec;

use super::{Outcome, read_amount, write_amount};
use crate::memory::SiteKind;
use crate::recording::damage::PayloadFault;
use crate::recording::model::Site;
use crate::recording::wire::{Reader, Writer};
use crate::units::NodeId;

pub(crate) fn write(sites: &[Site], to: &mut Writer) {
    to.count(sites.len());
    for site in sites {
        to.number(site.node.get().into());
        to.number(site.kind as u64);
        [site.live, site.peak, site.allocated].into_iter().for_each(|amount| write_amount(amount, to));
    }
}

pub(crate) fn read(sites: &mut Vec<Site>, from: &mut Reader<'_>) -> Outcome {
    from.rows(8, sites, |from| {
        Ok(Site {
            node: NodeId::new(from.small()?),
            kind: read_kind(from.number()?)?,
            live: read_amount(from)?,
            peak: read_amount(from)?,
            allocated: read_amount(from)?,
        })
    })
}

fn read_kind(tag: u64) -> Result<SiteKind, PayloadFault> {
    SiteKind::from_number(tag).ok_or(PayloadFault::UnknownTag(tag))
}
