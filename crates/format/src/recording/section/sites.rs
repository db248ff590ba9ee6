//! ```text
//!   rows: node │ kind: 0 heap, 1 anonymous mapping, 2 mapped file, 3 break, 4 Python object, 5 Python block
//!         bytes │ blocks, live at the end    bytes │ blocks, at the peak    bytes │ blocks, allocated
//! ```

use alloc::vec::Vec;

use super::{Outcome, read_amount, write_amount};
use crate::recording::damage::PayloadFault;
use crate::recording::model::{Site, SiteKind};
use crate::recording::wire::{Reader, Writer};
use crate::units::NodeId;

pub(crate) fn write(sites: &[Site], to: &mut Writer) {
    to.count(sites.len());
    for site in sites {
        to.number(site.node.get().into());
        to.number(kind_tag(site.kind));
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

fn kind_tag(kind: SiteKind) -> u64 {
    match kind {
        SiteKind::Heap => 0,
        SiteKind::AnonymousMapping => 1,
        SiteKind::FileMapping => 2,
        SiteKind::Break => 3,
        SiteKind::PythonObject => 4,
        SiteKind::PythonBlock => 5,
    }
}

fn read_kind(tag: u64) -> Result<SiteKind, PayloadFault> {
    match tag {
        0 => Ok(SiteKind::Heap),
        1 => Ok(SiteKind::AnonymousMapping),
        2 => Ok(SiteKind::FileMapping),
        3 => Ok(SiteKind::Break),
        4 => Ok(SiteKind::PythonObject),
        5 => Ok(SiteKind::PythonBlock),
        _ => Err(PayloadFault::UnknownTag(tag)),
    }
}
